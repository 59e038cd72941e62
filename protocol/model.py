"""The base of every message: frozen, strict about unknown fields, tolerant of nothing."""

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """A value that crosses the wire. Unknown fields are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="null")
