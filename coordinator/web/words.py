"""Numbers, times and durations as a person reads them. Pure; templates use these as filters."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

UNKNOWN = "–"
"""Not measured, or not known: never a zero."""


def number(value: float | None) -> str:
    """Whole numbers with thin groups of three: ``1 002``."""
    return UNKNOWN if value is None else f"{value:,.0f}".replace(",", "\u202f")


def milliseconds(value: float | None) -> str:
    """Three significant digits, in the unit that suits: ``12.3 µs``, ``4.56 ms``, ``1.2 s``."""
    if value is None:
        return UNKNOWN
    for limit, factor, unit in ((1.0, 1e3, "µs"), (1e3, 1.0, "ms"), (float("inf"), 1e-3, "s")):
        if value < limit:
            return f"{value * factor:.3g}\u202f{unit}"
    return UNKNOWN


def ratio(value: float | None) -> str:
    return UNKNOWN if value is None else f"×\u202f{value:.3g}"


def duration(seconds: float | None) -> str:
    """``8 s``, ``12 min``, ``1 h 05 min``."""
    if seconds is None:
        return UNKNOWN
    if seconds < 60:
        return f"{seconds:.0f}\u202fs"
    minutes = round(seconds / 60)
    return f"{minutes}\u202fmin" if minutes < 60 else f"{minutes // 60}\u202fh {minutes % 60:02d}\u202fmin"


def moment(value: datetime | None) -> str:
    """To the second, in UTC, as the database has it."""
    return UNKNOWN if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def pretty(value: Any) -> str:
    """JSON to be read."""
    return json.dumps(value, indent=2, ensure_ascii=False)
