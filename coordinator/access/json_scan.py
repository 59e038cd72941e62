"""Checks the nesting and the number of values of a JSON text before it is parsed. No I/O."""

from __future__ import annotations

import re

from coordinator.errors import RequestError

# A string is one match up to its quote or the end of the body, so matching never backtracks.
_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)
_OPENING, _CLOSING, _COMMA = b"[{", b"]}", b","


def require_modest_json(body: bytes, most_members: int, deepest: int) -> None:
    """Raise ``RequestError`` for JSON that is too deep or has too many values.

    Invalid JSON is not refused here, because the parser has the better message.
    """
    depth = members = 0
    for match in _MARK.finditer(body):
        mark = body[match.start() : match.start() + 1]
        if mark == b'"':
            continue
        if mark in _CLOSING:
            depth -= 1
            continue
        members += 1
        if mark in _OPENING:
            depth += 1
            if depth > deepest:
                raise RequestError(
                    f"the body's JSON is nested more than {deepest} levels deep: send JSON with fewer levels"
                )
        if members > most_members:
            raise RequestError(f"the body's JSON has more than {most_members:,} members: send fewer at a time")


def require_few_fields(body: bytes, most: int) -> None:
    """Raise ``RequestError`` for a form with too many fields."""
    if body.count(b"&") >= most:
        raise RequestError(f"the form has more than {most:,} fields: send fewer")
