"""Writes CSV (RFC 4180) in which no text is a formula.

Spreadsheets calculate cells that begin with ``=``, ``+``, ``-``, ``@``, a tab or a line end. Such a formula can read
other cells and send their content away. So a *text* with such a beginning gets an apostrophe in front, by which
spreadsheets recognize text. Numbers are not changed, and neither are texts that are numbers (``-1.5``). No information
is lost: a text that already has apostrophes before such a character gets one more. So a reader that removes one
apostrophe from every cell that ``PROTECTED`` matches gets the original values.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""The beginning of a formula. The full-width forms are also signs for some input methods."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
PROTECTED = re.compile("'+[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""The beginning of a cell from which a reader removes one apostrophe."""


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """The rows as lines of CSV. Lists and objects become JSON."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list | tuple):
        value = json.dumps(value, ensure_ascii=False)
    # Members of enums and numbers cannot contain a formula.
    if not isinstance(value, str) or _FORMULA.match(value) is None or _NUMBER.fullmatch(value) is not None:
        return value
    return f"'{value}"


def plain_cell(cell: str) -> str:
    """The original value of a cell that ``csv_text`` wrote."""
    return cell[1:] if PROTECTED.match(cell) else cell
