"""Formats values for people. Pages, the terminal, reports and sentences show the same format. It does no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

UNKNOWN = "–"
"""Shown in place of a value that was not measured or is unknown. Such a value is never shown as zero."""


def number(value: float | None) -> str:
    """The value as an integer with thousands separators: ``1,002``."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def significant(value: float) -> str:
    """The value with three significant digits, or with all digits from 1,000, and never with an exponent: ``0.778``,
    ``36``, ``12,345``."""
    three_digits = Decimal(f"{value:.3g}")
    return f"{value:,.0f}" if abs(three_digits) >= 1000 else f"{three_digits:f}"


def latency(ms: float | None) -> str:
    """The latency with three significant digits and a suitable unit: ``85.1 µs``, ``1.23 ms``, ``12,345 s``."""
    if ms is None:
        return UNKNOWN
    for factor, unit in ((1e3, "µs"), (1.0, "ms")):
        if ms * factor < 999.5:
            return f"{significant(ms * factor)} {unit}"
    return f"{significant(ms / 1e3)} s"


def level(ms: float | None, *, unconfirmed: bool | None) -> str:
    """A latency, marked if no second run confirms it: ``~85.1 µs``."""
    return f"{'~' if unconfirmed else ''}{latency(ms)}"


def ratio(value: float | None) -> str:
    """A ratio of latencies: ``×0.778``."""
    return UNKNOWN if value is None else f"×{significant(value)}"


def percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{100 * share:.0f} %"


def duration(seconds: float | None) -> str:
    """A duration in seconds as text: ``850 ms``, ``12 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if seconds is None:
        return UNKNOWN
    if 0 < seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def fraction(passes: int, total: int) -> str:
    """The passed and the counted cases: ``47/60``. The word *unknown* if no case counts."""
    return f"{passes}/{total}" if total else UNKNOWN


def plural(count: int, noun: str) -> str:
    """A number with its noun: ``1 case``, ``1,002 cases``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def join_words(words: Sequence[str], most: int | None = None) -> str:
    """The words as a list: ``a, b and c``. If there are more than ``most`` words, the first ones and the number of the
    others: ``a, b and 7 more``."""
    if most is not None and len(words) > most:
        words = [*words[:most], f"{len(words) - most:,} more"]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


VERDICT_WORDS = {"success": "passes", "partial": "fails some", "complete": "fails all", "unknown": "no verdict"}
"""The words for a function's verdict on pages and in the terminal, by the stored word."""


def verdict_words(verdict: str) -> str:
    """A function's verdict in words for people. The verdicts of runs are not changed."""
    return VERDICT_WORDS.get(verdict, verdict)
