"""Rewords pydantic's validation errors, so that they say what to write. Does no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol.limits import NO_NUL

_WHOLE = "must be a whole number"
_WORDS = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "enum": "must be {expected}",
    "extra_forbidden": "is not a known field",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than": "must be over {gt}",
    "greater_than_equal": "must be {ge} or more",
    "int_from_float": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": "is too large",
    "int_type": _WHOLE,
    "json_invalid": "no valid JSON ({error})",
    "less_than": "must be under {lt}",
    "less_than_equal": "must be {le} or less",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "missing": "is missing",
    "model_attributes_type": "must be an object",
    "model_type": "must be an object",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_long": "must have {max_length} characters or fewer",
    "string_too_short": "must have {min_length} characters or more",
    "string_type": "must be text",
    "too_long": "must have {max_length} entries or fewer",
    "too_short": "must have {min_length} entries or more",
    "value_error": "{error}",
}
"""The sentence for each type of pydantic error, with placeholders for the members of its context."""


def words_of(fault: Mapping[str, Any]) -> str:
    """A pydantic error in words, such as ``must be 100 or less``. Rare types of errors keep pydantic's own words."""
    context = fault.get("ctx", {})
    if context.get("pattern") == NO_NUL:
        return "must not contain NUL"
    # If a validator comes before the bound, pydantic reports a text with the error type of a list.
    of_text = isinstance(fault.get("input"), str) and f"string_{fault['type']}" in _WORDS
    template = _WORDS.get(f"string_{fault['type']}" if of_text else fault["type"])
    values = {name: _plain(value) for name, value in context.items()}
    return str(fault["msg"]) if template is None else template.format_map(values).rstrip(".")


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
