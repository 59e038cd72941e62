"""Replaces the parts of texts and JSON that PostgreSQL rejects."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from coordinator.text.plain_text import plain_text

DEEPEST = 100


def jsonable(value: Any, *, depth: int = DEEPEST) -> Any:
    """Return ``value`` in a form that JSONB can store.

    NaN and infinities become the strings ``NaN``, ``Infinity`` and ``-Infinity``. NUL and lone surrogates become
    U+FFFD, also in keys. A value of an unknown type becomes its text, and nesting that is too deep becomes ``…``.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, int):
        return value if value.bit_length() < 4096 else hex(value)  # Python refuses to print longer ones
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (Mapping, list, tuple, set, frozenset)) and not depth:
        return "…"
    if isinstance(value, Mapping):
        return {plain_text(str(key)): jsonable(item, depth=depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item, depth=depth - 1) for item in value]
    return plain_text(str(value))


def to_json(value: Any) -> str:
    """JSON text that JSONB accepts. For ordinary values, only the standard encoder's fast path is used."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        text = ""
    # In ASCII, NUL is \u0000 and every surrogate \ud…. Pairs of surrogates do not change in the second pass.
    if not text or "\\u0000" in text or "\\ud" in text:
        text = json.dumps(jsonable(value), allow_nan=False, separators=(",", ":"))
    return text
