"""CSV by RFC 4180, in which no text is a formula.

A spreadsheet calculates a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line's end, and such a formula
can read other cells and send them away. A *text* that begins so gets an apostrophe in front, which spreadsheets take
for *this is text*. Numbers stay as they are, also those that come as text (``-1.5``).

Nothing is lost: a text that has apostrophes before such a character gets one more, so a reader that takes one
apostrophe off every cell that ``PROTECTED`` matches has the values as they were.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""The full-width forms are signs too where an input method makes them."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
PROTECTED = re.compile("'+[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""The beginning of a cell from which a reader takes one apostrophe off."""


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """The rows as lines of CSV; a value that has parts is JSON."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list | tuple):
        value = json.dumps(value, ensure_ascii=False)
    # Members of enums and numbers cannot hold a formula.
    if not isinstance(value, str) or _FORMULA.match(value) is None or _NUMBER.fullmatch(value) is not None:
        return value
    return f"'{value}"


def plain_cell(cell: str) -> str:
    """The value of a cell as ``csv_text`` got it."""
    return cell[1:] if PROTECTED.match(cell) else cell
