"""The base class of every message: frozen, rejects unknown fields and numbers that are not finite.

The limits of numbers, texts and lists are in ``limits.py``.
"""

from pydantic import BaseModel, ConfigDict, ValidationError

from protocol.fault_words import words_of


class Message(BaseModel):
    """A value that crosses the wire. Unknown fields are refused, values never change.

    No number is NaN or infinite. One that got past the checks (``model_construct``, ``model_copy``)
    is written as it is, which no reader takes for a measurement; the default, null, reads *not measured*.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, ser_json_inf_nan="constants")


def first_fault(error: ValidationError) -> str:
    """The first fault of a message, with its place: ``outcome.timing.cold_ms: must be a finite number``."""
    fault = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    return f"{where}: {words_of(fault)}" if where else words_of(fault)
