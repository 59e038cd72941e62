"""The base of every message: frozen, strict about unknown fields, tolerant of nothing.

What its numbers, texts and lists may be stands in ``limits.py``.
"""

from pydantic import BaseModel, ConfigDict, ValidationError

from protocol.limits import NO_NUL


class Message(BaseModel):
    """A value that crosses the wire. Unknown fields are refused, values never change.

    No number is NaN or infinite. One that got past the checks (``model_construct``, ``model_copy``)
    is written as it is, which no reader takes for a measurement; the default, null, reads *not measured*.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, ser_json_inf_nan="constants")


def first_fault(error: ValidationError) -> str:
    """Where a message is wrong first, and how: ``outcome.timing.cold_ms: Input should be a finite number``."""
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    wrong = fault["msg"].removeprefix("Value error, ")
    if fault.get("ctx", {}).get("pattern") == NO_NUL:
        wrong = "must not contain NUL"
    return f"{where}: {wrong}" if where else wrong
