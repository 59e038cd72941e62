"""Has a function's latency changed between two campaigns? A decision per function. Pure.

A run is a process, and processes differ by more than the samples within one: so a run counts as
one measurement. Its level is the median over the function's cases of how each compares with that
case's own mean: what disturbs some cases of a run does not move it. Two campaigns are judged by
how much their runs differ among themselves (Student's t, two samples, equal variance). Three runs
say little of that, so what is usual among the campaign's functions is heard too: a variance
moderated as in Smyth (2004), "Linear models and empirical Bayes methods".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

FACTOR = 1.5
"""The change to be found: times slower or faster."""

Speed = Literal["slower", "faster", "same", "insufficient data"]


class Measurement(NamedTuple):
    """The steady median of one case in one run."""

    function: str
    case: str
    run: int
    milliseconds: float


class UsualVariance(NamedTuple):
    """How much a function's runs usually vary, and how many degrees of freedom that is worth."""

    variance: float
    freedom: int


NOTHING_USUAL = UsualVariance(0.0, 0)
WORTH = 8
FEWEST_FUNCTIONS = 10
"""Of fewer than this no usual variance is known."""


@dataclass(frozen=True)
class LatencyChange:
    """How many times slower B is than A, and its interval; None where nothing can be said."""

    function: str
    change: Speed
    ratio: float | None
    interval: tuple[float, float] | None
    """99 % of the intervals made like this hold the true ratio."""
    cases: int
    runs: tuple[int, int]
    """Measured runs before and after."""

    @property
    def changed(self) -> bool:
        return self.change in ("slower", "faster")


def compare_latencies(
    before: Sequence[Measurement], after: Sequence[Measurement], factor: float = FACTOR
) -> list[LatencyChange]:
    """Every function that either campaign measured, by name."""
    old, new = _by_function(before), _by_function(after)
    names = sorted(old.keys() | new.keys())
    levels = {name: _levels(old.get(name, {}), new.get(name, {})) for name in names}
    usual = _usual(list(levels.values()))
    return [_latency_change(name, levels[name], usual, factor) for name in names]


def paper_ratios(before: Sequence[Measurement], after: Sequence[Measurement]) -> dict[str, float]:
    """What the study's rule says of the same functions: the means of all runs, one over the other."""
    old, new = _by_function(before), _by_function(after)
    return {
        name: statistics.fmean(_all(new[name])) / statistics.fmean(_all(old[name])) for name in old.keys() & new.keys()
    }


def decide(
    before: Sequence[float], after: Sequence[float], factor: float = FACTOR, usual: UsualVariance = NOTHING_USUAL
) -> tuple[Speed, float, float]:
    """The change between two sets of runs, given as logarithms; its logarithm, and the interval's half width.

    A change counts that the runs' own differences do not explain, if it is nearer to ``factor``
    than to none. Where a change by ``factor`` could not have been told from none, the data are
    insufficient.
    """
    difference = statistics.fmean(after) - statistics.fmean(before)
    freedom = len(before) + len(after) - 2
    variance = (freedom * _pooled(before, after) + usual.freedom * usual.variance) / (freedom + usual.freedom)
    error = math.sqrt(variance * (1 / len(before) + 1 / len(after)))
    half = _T_99[min(freedom + usual.freedom, len(_T_99)) - 1] * error
    if abs(difference) > half and abs(difference) > math.log(factor) / 2:
        return ("slower" if difference > 0 else "faster"), difference, half
    return ("insufficient data" if half >= math.log(factor) else "same"), difference, half


Runs = Mapping[int, Mapping[str, float]]
"""Milliseconds by run and case."""


@dataclass(frozen=True)
class _Levels:
    """One function's runs on both sides, each as a logarithm."""

    before: Sequence[float]
    after: Sequence[float]
    cases: int

    @property
    def enough(self) -> bool:
        return self.cases > 0 and min(len(self.before), len(self.after)) >= 2


def _latency_change(function: str, levels: _Levels, usual: UsualVariance, factor: float) -> LatencyChange:
    runs = len(levels.before), len(levels.after)
    if not levels.enough:
        return LatencyChange(function, "insufficient data", None, None, levels.cases, runs)
    change, difference, half = decide(levels.before, levels.after, factor, usual)
    interval = math.exp(difference - half), math.exp(difference + half)
    return LatencyChange(function, change, math.exp(difference), interval, levels.cases, runs)


def _usual(all_levels: Sequence[_Levels]) -> UsualVariance:
    """From the functions' median, which no few wild ones move."""
    measured = [levels for levels in all_levels if levels.enough]
    if len(measured) < FEWEST_FUNCTIONS:
        return NOTHING_USUAL
    freedom = statistics.median(len(levels.before) + len(levels.after) - 2 for levels in measured)
    middle = statistics.median(_pooled(levels.before, levels.after) for levels in measured)
    # The median of a chi-squared variable over its mean (Wilson and Hilferty's approximation).
    return UsualVariance(middle / (1 - 2 / (9 * freedom)) ** 3, WORTH)


def _by_function(measured: Sequence[Measurement]) -> dict[str, dict[int, dict[str, float]]]:
    found: dict[str, dict[int, dict[str, float]]] = {}
    for function, case, run, milliseconds in measured:
        if milliseconds > 0:
            found.setdefault(function, {}).setdefault(run, {})[case] = milliseconds
    return found


def _levels(before: Runs, after: Runs) -> _Levels:
    """Over the cases that every run of both sides measured: a median over others would compare other things."""
    every = [set(cases) for cases in (*before.values(), *after.values())]
    common = sorted(set.intersection(*every)) if every else []
    runs = [*before.values(), *after.values()]
    own = {case: statistics.fmean(math.log(measured[case]) for measured in runs) for case in common}
    levels = [
        statistics.median(math.log(measured[case]) - own[case] for case in common) if common else 0.0
        for measured in runs
    ]
    return _Levels(levels[: len(before)], levels[len(before) :], len(common))


def _all(runs: Runs) -> list[float]:
    return [milliseconds for cases in runs.values() for milliseconds in cases.values()]


def _pooled(before: Sequence[float], after: Sequence[float]) -> float:
    squares = sum(statistics.variance(side) * (len(side) - 1) for side in (before, after) if len(side) > 1)
    return squares / (len(before) + len(after) - 2)


_T_99 = (
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
    3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
)  # fmt: skip
"""Student's t for a two-sided interval of 99 %, by degrees of freedom from 1 to 20 and more."""
