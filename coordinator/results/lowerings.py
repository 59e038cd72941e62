"""Functions on a target whose programs are lowered and not run: their words, and the one rate of such a target. Pure.

Of such a target nothing passed or failed and nothing was timed, so it has no rate of ported functions: its rate is of
functions without a missing lowering, of those of which a case was lowered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from coordinator.figures.formats import percent, plural
from coordinator.results.statistics import Rate
from protocol.enums import Cause

LABEL = "functions without a missing lowering"
"""The label of such a target's rate, the same everywhere."""


class LoweredFunction(Protocol):
    """A function on a target: its counts of cases, and the operation that most of them lack."""

    @property
    def lowered(self) -> int: ...
    @property
    def not_lowered(self) -> int: ...
    @property
    def lowering(self) -> str | None: ...
    @property
    def missing_lowering(self) -> str | None: ...


def lowering_words(function: LoweredFunction) -> str | None:
    """``lowered``, or ``not lowered: geqp3 (3 of 18 cases)``; None if no case of the function was lowered."""
    if function.lowering is None:
        return None
    if function.lowering == Cause.lowered:
        return "lowered"
    cases = function.lowered + function.not_lowered
    return f"not lowered: {function.missing_lowering or 'unknown'} ({function.not_lowered} of {plural(cases, 'case')})"


def lowering_rate(lowerings: Iterable[str | None]) -> Rate:
    """The share of functions without a missing lowering, from the word (``lowering``) of each function."""
    counts = Counter(lowerings)
    return Rate(counts[Cause.lowered], counts[Cause.lowered] + counts[Cause.not_lowered])


def lowering_sentence(rate: Rate) -> str:
    """The rate in words, the same in the terminal, on the pages and in the report."""
    if not rate.n:
        return "No function was lowered."
    return f"{rate.count:,} of {rate.n:,} {LABEL} ({percent(rate.share or 0)})."
