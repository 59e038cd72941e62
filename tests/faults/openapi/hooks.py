"""What schemathesis must learn of our media types: newline-delimited JSON, sent as it is and read line by line."""

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
    """The schema is that of one line: the last, if there is any."""
    lines = response.content.splitlines()
    return json.loads(lines[-1]) if lines else None
