"""Hooks for schemathesis: newline-delimited JSON is sent unchanged and read line by line."""

from __future__ import annotations

import json
from typing import Any

import schemathesis

NDJSON = "application/x-ndjson"


@schemathesis.serializer(NDJSON)
def serialize(context: Any, value: Any) -> Any:
    return value if isinstance(value, (bytes, str)) else json.dumps(value, default=str)


@schemathesis.deserializer(NDJSON)
def deserialize(context: Any, response: Any) -> Any:
    """Return the last line, if there is one, because the schema describes one line."""
    lines = response.content.splitlines()
    return json.loads(lines[-1]) if lines else None
