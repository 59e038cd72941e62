"""CSV by RFC 4180."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """The rows as lines of CSV."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue()
