"""The words and the rate for targets that only lower programs and do not run them. It does no I/O.

On such a target, no case passes or fails and nothing is timed, so there is no rate of ported functions. Instead, the
rate is the share of functions without a missing lowering, among the functions with a lowered case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from coordinator.figures.formats import percent, plural
from coordinator.results.statistics import Rate
from protocol.enums import Cause

LABEL = "functions without a missing lowering"
"""The label of the rate, the same in the terminal, on pages and in reports."""


class LoweredFunction(Protocol):
    """A function on a target, with its counts of cases and the operation whose missing lowering affects the most
    cases."""

    @property
    def lowered(self) -> int: ...
    @property
    def not_lowered(self) -> int: ...
    @property
    def lowering(self) -> str | None: ...
    @property
    def missing_lowering(self) -> str | None: ...


def lowering_words(function: LoweredFunction) -> str | None:
    """The function's lowering in words: ``lowered``, or ``not lowered: geqp3 (3 of 18 cases)``. None if no case of the
    function was lowered."""
    if function.lowering is None:
        return None
    if function.lowering == Cause.lowered:
        return "lowered"
    cases = function.lowered + function.not_lowered
    return f"not lowered: {function.missing_lowering or 'unknown'} ({function.not_lowered} of {plural(cases, 'case')})"


def lowering_rate(lowerings: Iterable[str | None]) -> Rate:
    """The share of functions without a missing lowering. ``lowerings`` has the stored word of each function."""
    counts = Counter(lowerings)
    return Rate(counts[Cause.lowered], counts[Cause.lowered] + counts[Cause.not_lowered])


def lowering_sentence(rate: Rate) -> str:
    """The rate as a sentence. The terminal, the pages and the report all show this sentence."""
    if not rate.n:
        return "No function was lowered."
    return f"{rate.count:,} of {rate.n:,} {LABEL} ({percent(rate.share or 0)})."
