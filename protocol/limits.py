"""The limits of numbers, texts and lists in messages. They are checked once, when a message is read.

Every value within these limits can be stored, and everything that is computed from such values is finite.

========================  ============================  =====================================================
type                      values                        why
========================  ============================  =====================================================
``Milliseconds``          0 to 10^12, finite            31 years; see ``MAX_MILLISECONDS``
``Seconds``               0 to 10^9, finite             the same
``Count``                 0 to 2^31 - 1                 ``integer`` columns
``Total``                 0 to 2^63 - 1                 ``bigint`` columns
``EventNumber``           1 to 2^63 - 1                 the stream's cursor is a ``bigint``
``AttemptNumber``         1 to 32,767                   ``smallint`` columns
``RunNumber``             1 to 32,767                   ``smallint`` columns; a campaign has at most 100 runs
``ExitCode``              -2^31 to 2^31 - 1             ``integer``; a signal may be given as a negative code
``Moment``                1970 to 2999, with its zone   any zone's time can be written in any other's
``Name``                  128 characters                five of them together are one key of an index
``TargetName``            128 characters, no slash      a part of ``framework@version/device``
``CaseName``              500 characters                a case's id or its function; a key of an index
``Line``                  1,000 characters              a sentence, a frame, an operation
``LongText``              65,536 characters             a message, the end of a log (64 KiB)
``Lines``                 1,000 lines                   frames, devices, notes, tags
========================  ============================  =====================================================

All text is valid Unicode without NUL: PostgreSQL can store neither a NUL nor a lone surrogate.
Further lists: ``MAX_SAMPLES``, ``MAX_OPERATIONS``, ``MAX_CASES``, ``MAX_SUITES``, ``MAX_RUNNING``; those
of a case's options are in ``option_limits.py``.
"""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field

MAX_MILLISECONDS = 1e12
"""The longest duration, in milliseconds. Sums over 2^31 such durations are at most 10^22, and quotients by
``LEAST_MILLISECONDS`` are at most 10^24. So sums, ratios, products of two ratios and their means stay far below the
largest double, 10^308."""
LEAST_MILLISECONDS = 1e-12
"""The shortest nonzero duration, a femtosecond. A shorter time is stored as zero, because no clock can distinguish it
from zero, and a division by it could overflow. Zero is a valid time without a logarithm or a quotient, so ratios,
geometric means and logarithmic axes omit it."""
MAX_SECONDS = 1e9
MAX_INTEGER = 2**31 - 1
MAX_BIGINT = 2**63 - 1
MAX_SMALLINT = 2**15 - 1
MAX_NAME = 128
MAX_CASE_NAME = 500
MAX_LINE = 1_000
MAX_TEXT = 1 << 16
MAX_LINES = 1_000
MAX_SAMPLES = 10_000
MAX_OPERATIONS = 10_000
"""Maximum number of operations in ``fallbacks`` of one case."""
MAX_SUITES = 1_000
MAX_CASES = 200_000
MAX_CATALOGUE_BYTES = 64 << 20
"""Maximum size of a catalogue in JSON, the longest message."""
MAX_RUNNING = 10_000

IDLE_CONNECTION_S = 2.0
"""The maximum idle time of a connection that is reused. Common servers close idle connections after 5 s (uvicorn,
Node.js), and a request that arrives at that moment is lost."""

NO_NUL = r"^[^\x00]*$"
NO_SLASH = r"^[^/\x00]*$"


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain NUL")
    return text


def _without_slash(text: str) -> str:
    if "/" in text:
        raise ValueError("must not contain a slash: a target is named framework@version/device")
    return text


Milliseconds = Annotated[float, Field(ge=0, le=MAX_MILLISECONDS)]
Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS)]
Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
Total = Annotated[int, Field(ge=0, le=MAX_BIGINT)]
EventNumber = Annotated[int, Field(ge=1, le=MAX_BIGINT)]
AttemptNumber = Annotated[int, Field(ge=1, le=MAX_SMALLINT)]
RunNumber = Annotated[int, Field(ge=1, le=MAX_SMALLINT)]
ExitCode = Annotated[int, Field(ge=-(2**31), le=MAX_INTEGER)]
Moment = Annotated[AwareDatetime, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(3000, 1, 1, tzinfo=UTC))]

Name = Annotated[str, Field(max_length=MAX_NAME, pattern=NO_NUL)]
TargetName = Annotated[Name, Field(json_schema_extra={"pattern": NO_SLASH}), AfterValidator(_without_slash)]
CaseName = Annotated[str, Field(max_length=MAX_CASE_NAME, pattern=NO_NUL)]
Line = Annotated[str, Field(max_length=MAX_LINE, pattern=NO_NUL)]
# A pattern takes 1.6 ns a character, and searching for one character next to nothing.
LongText = Annotated[
    str, Field(max_length=MAX_TEXT, json_schema_extra={"pattern": NO_NUL}), AfterValidator(_without_nul)
]
Lines = Annotated[list[Line], Field(max_length=MAX_LINES)]
