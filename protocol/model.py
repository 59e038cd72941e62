"""The base class of every message. It is frozen, and rejects unknown fields and non-finite numbers.

The limits of numbers, texts and lists are in ``limits.py``.
"""

from pydantic import BaseModel, ConfigDict, ValidationError

from protocol.fault_words import words_of


class Message(BaseModel):
    """An immutable message. Unknown fields are rejected, and no number may be NaN or infinite.

    If a NaN or infinity bypasses validation (``model_construct``, ``model_copy``), it is serialized as it is, and no
    reader accepts it as a number. Pydantic's default would write null, which means *not measured*.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, ser_json_inf_nan="constants")


def first_fault(error: ValidationError) -> str:
    """The first fault of a message with its location: ``outcome.timing.cold_ms: must be a finite number``."""
    fault = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    return f"{where}: {words_of(fault)}" if where else words_of(fault)
