"""Has a function's latency changed between two campaigns? A decision per function. Pure.

A run is a process, and processes differ by more than the samples within one: so a run counts as
one measurement, a function's geometric mean over its cases, and what two campaigns differ by is
judged by how much their runs differ among themselves (Student's t, two samples, equal variance).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

FACTOR = 1.5
"""The change to be found: times slower or faster."""

Change = Literal["slower", "faster", "same", "insufficient data"]


class Measured(NamedTuple):
    """The steady median of one case in one run."""

    function: str
    case: str
    run: int
    milliseconds: float


@dataclass(frozen=True)
class Comparison:
    """``ratio`` and its interval are times slower than before; None where nothing can be said."""

    function: str
    change: Change
    ratio: float | None
    interval: tuple[float, float] | None
    """99 % of the intervals made like this hold the true ratio."""
    cases: int
    runs: tuple[int, int]
    """Measured runs before and after."""


def compare(before: Sequence[Measured], after: Sequence[Measured], factor: float = FACTOR) -> list[Comparison]:
    """Every function that either campaign measured, by name."""
    old, new = _by_function(before), _by_function(after)
    return [_compared(name, old.get(name, {}), new.get(name, {}), factor) for name in sorted(old.keys() | new.keys())]


def paper_ratios(before: Sequence[Measured], after: Sequence[Measured]) -> dict[str, float]:
    """What the study's rule says of the same functions: the means of all runs, one over the other."""
    old, new = _by_function(before), _by_function(after)
    return {
        name: statistics.fmean(_all(new[name])) / statistics.fmean(_all(old[name])) for name in old.keys() & new.keys()
    }


def decide(before: Sequence[float], after: Sequence[float], factor: float = FACTOR) -> tuple[Change, float, float]:
    """The change between two sets of runs, given as logarithms; its logarithm, and the interval's half width.

    A change counts that the runs' own differences do not explain, if it is nearer to ``factor``
    than to none. Where a change by ``factor`` could not have been told from none, the data are
    insufficient.
    """
    difference = statistics.fmean(after) - statistics.fmean(before)
    freedom = len(before) + len(after) - 2
    pooled = ((len(before) - 1) * _variance(before) + (len(after) - 1) * _variance(after)) / freedom
    half = _T_99[min(freedom, len(_T_99)) - 1] * math.sqrt(pooled * (1 / len(before) + 1 / len(after)))
    if abs(difference) > half and abs(difference) > math.log(factor) / 2:
        return ("slower" if difference > 0 else "faster"), difference, half
    return ("insufficient data" if half >= math.log(factor) else "same"), difference, half


Runs = Mapping[int, Mapping[str, float]]
"""Milliseconds by run and case."""


def _compared(function: str, before: Runs, after: Runs, factor: float) -> Comparison:
    cases = _common(before, after)
    runs = len(before), len(after)
    if not cases or min(runs) < 2:
        return Comparison(function, "insufficient data", None, None, len(cases), runs)
    change, difference, half = decide(_levels(before, cases), _levels(after, cases), factor)
    interval = math.exp(difference - half), math.exp(difference + half)
    return Comparison(function, change, math.exp(difference), interval, len(cases), runs)


def _by_function(measured: Sequence[Measured]) -> dict[str, dict[int, dict[str, float]]]:
    found: dict[str, dict[int, dict[str, float]]] = {}
    for each in measured:
        if each.milliseconds > 0:
            found.setdefault(each.function, {}).setdefault(each.run, {})[each.case] = each.milliseconds
    return found


def _common(before: Runs, after: Runs) -> list[str]:
    """The cases that every run of both sides measured: a mean over others would compare other things."""
    every = [set(cases) for cases in (*before.values(), *after.values())]
    return sorted(set.intersection(*every)) if every else []


def _levels(runs: Runs, cases: Sequence[str]) -> list[float]:
    return [statistics.fmean(math.log(measured[case]) for case in cases) for measured in runs.values()]


def _all(runs: Runs) -> list[float]:
    return [milliseconds for cases in runs.values() for milliseconds in cases.values()]


def _variance(values: Sequence[float]) -> float:
    return statistics.variance(values) if len(values) > 1 else 0.0


_T_99 = (
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
    3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
)  # fmt: skip
"""Student's t for a two-sided interval of 99 %, by degrees of freedom from 1 to 20 and more."""
