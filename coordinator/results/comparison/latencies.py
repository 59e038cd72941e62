"""Detects changes of latency between two campaigns, by function and by case. It does no I/O.

Disturbances of a host can only make a call longer. So the level of a run is a low quantile of its samples, and the
level of a case is the level of its best run. The best run still exceeds the undisturbed time by some excess. The other
runs show how large an excess can be: if excesses are exponential, the best of n runs exceeds the undisturbed time by at
most the quantile of Fisher's F with 2 and the spread's degrees of freedom, times the spread over n (Epstein and Sobel
1954). The interval of a side lies between this lower bound and its best run. A change counts if the intervals of the
two sides do not overlap, and the levels differ by more than ``LEAST``. A few runs say little about their spread, so the
usual spread among the campaign's functions counts as a prior worth some degrees of freedom (Smyth 2004).

A busy host disturbs this in three ways:

- Runs in which most samples waited for a core agree with each other, and say nothing about the call. These runs are
  excluded.
- If many samples waited, only the function's own runs show their spread, because other functions share less of their
  work among threads. The change must then be greater.
- Each campaign is compared with itself: its best runs with its second best runs, which differ although nothing changed.
  A change between campaigns counts only if it is greater.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from coordinator.figures.formats import percent, plural, ratio
from coordinator.figures.level import ALIKE

FACTOR = 1.5
"""The factor of the change to detect: slower or faster by this factor."""
LEAST = ALIKE
"""The smallest change that counts."""
ALPHA = 0.01
"""The accepted share of intervals that miss the true ratio."""
SHAKEN = 0.2
"""The share of samples that waited for a core, above which the usual spread of other functions is not used.

On two cores shared with two to six processes, 2 % of the samples of a single-threaded call waited, and 40 % of the
samples of a call with two threads, whose runs differed by a factor of up to four.
"""
AGREEING = 0.95
"""The share of functions whose two halves differ by at most ``between_halves``."""
NAMED = 3
"""The maximum number of cases that a line names; JSON contains all."""
MOST_RUNS = 30
"""The maximum number of additional runs that the advice suggests."""

Speed = Literal["slower", "faster", "same", "insufficient data"]


class Measurement(NamedTuple):
    """The level of one case in one run."""

    function: str
    case: str
    run: int
    milliseconds: float
    contended: bool = False
    """Whether threads waited for a core in most samples."""
    contended_share: float | None = None
    """The share of samples that waited for a core; None if waits were not counted."""


class Spread(NamedTuple):
    """The mean logarithm of a run's time divided by the best run's time, and the number of its degrees of freedom."""

    excess: float
    freedom: int


class Spreads(NamedTuple):
    """Two estimates of the spread of runs: one from the lower half alone, which a burst of disturbance does not affect,
    and one from all runs."""

    lower: Spread
    all: Spread


UNKNOWN = Spread(0.0, 0)
NOTHING_USUAL = Spreads(UNKNOWN, UNKNOWN)
WORTH = 16
"""The weight of the usual spread, in degrees of freedom."""
FEWEST_FUNCTIONS = 10
"""The minimum number of functions for a usual spread; with fewer, the usual spread is unknown."""


@dataclass(frozen=True)
class CaseLatencyChange:
    """A single case that became slower or faster: the ratio of B to A and its interval."""

    case: str
    change: Speed
    ratio: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class LatencyChange:
    """How one function's latency changed: the ratio of B to A (above 1 if B is slower), and its interval. Both are None
    if there are too few data."""

    function: str
    change: Speed
    ratio: float | None
    """The ratio of B to A: the median, over the function's cases, of the ratio of their best runs."""
    interval: tuple[float, float] | None
    """The confidence interval of the ratio, at 99 %."""
    cases: int
    runs: tuple[int, int]
    """The numbers of runs of A and B, without runs in which most samples waited for a core."""
    contended: tuple[float | None, float | None]
    """The shares of samples of A and B that waited for a core; None if waits were not counted."""
    changed_cases: tuple[CaseLatencyChange, ...] = ()
    """The cases that changed by more than the spread of their runs, the case with the greatest change first."""
    why: str | None = None
    """The reason why there are too few data: the data that are missing, or the number of runs that would be needed."""

    @property
    def changed(self) -> bool:
        return self.change in ("slower", "faster")

    @property
    def contended_shares(self) -> str:
        """The contended shares of both sides as text: ``2 %, 40 %``."""
        return ", ".join(map(percent, self.contended))

    @property
    def moves(self) -> str:
        """The changed cases in words: ``torch.cat/0 ×3.1, torch.cat/1 ×2.2, … of 14 cases``."""
        if not self.changed_cases:
            return ""
        changes = [f"{case.case} {ratio(case.ratio)}" for case in self.changed_cases[:NAMED]]
        more = [f"{len(self.changed_cases) - NAMED:,} more"] if len(self.changed_cases) > NAMED else []
        return f"{', '.join([*changes, *more])} of {plural(self.cases, 'case')}"


Runs = MutableMapping[int, float]
"""The logarithms of a case's levels, by run."""


class CaseRuns(NamedTuple):
    """The runs of a case in one campaign, without the runs in which most samples waited for a core."""

    runs: Runs
    shares: MutableMapping[int, float | None]
    """For each run, the share of samples that waited for a core. Runs that are excluded from ``runs`` are included
    here."""

    @property
    def left_out(self) -> int:
        """The number of runs that were excluded because most of their samples waited for a core."""
        return len(self.shares) - len(self.runs)

    @property
    def is_contended(self) -> bool:
        """Whether so many runs were excluded that fewer than two are left to compare with each other."""
        return self.left_out > 0 and len(self.runs) < 2


class LatencyDifference(NamedTuple):
    """The logarithm of a ratio, and its interval."""

    value: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        return math.exp(self.value)

    @property
    def interval(self) -> tuple[float, float]:
        return math.exp(self.low), math.exp(self.high)

    @property
    def is_bounded(self) -> bool:
        """Whether the interval is finite, because there were enough runs and they were similar enough."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def direction(self, least: float) -> Speed | None:
        """Slower or faster. None if the intervals of the two sides overlap, or if the difference is not greater than
        ``least``."""
        if abs(self.value) <= least:
            return None
        return "slower" if self.low > 0 else "faster" if self.high < 0 else None

    def sure_direction(self, least: float) -> Speed | None:
        """Slower or faster if the whole interval is beyond ``least``, otherwise None."""
        return "slower" if self.low > least else "faster" if self.high < -least else None


class ChangeScale(NamedTuple):
    """The thresholds for changes between two campaigns: the usual spread, and the smallest change that counts."""

    usual: Spreads
    least: float
    """The logarithm of the smallest change that counts."""
    factor: float
    """The change to detect, as a factor."""

    def of(self, contended_share: float) -> ChangeScale:
        """The thresholds for a function with this share of samples that waited for a core.

        The samples that did not wait were longer as well, because other processes had filled the caches. This can add
        up to the same share again to the difference between two runs on one host.
        """
        usual = NOTHING_USUAL if contended_share > SHAKEN else self.usual
        return ChangeScale(usual, self.least + math.log1p(contended_share), self.factor)


def compare_latencies(
    before: Sequence[Measurement], after: Sequence[Measurement], factor: float = FACTOR
) -> list[LatencyChange]:
    """Compare every function that either campaign measured, sorted by name."""
    old, new = _by_function(before), _by_function(after)
    functions = [_Function(name, old.get(name, {}), new.get(name, {})) for name in sorted(old.keys() | new.keys())]
    usual = usual_spreads([function.spreads for function in functions if function.is_enough])
    least = max(LEAST, *(between_halves(side) or LEAST for side in (before, after)))
    scale = ChangeScale(usual, math.log(least), factor)
    return [_latency_change(function, scale) for function in functions]


def between_halves(measurements: Sequence[Measurement]) -> float | None:
    """The ratio below which 19 of 20 functions stay if two halves of one campaign are compared; None if no case has two
    runs.

    The two fastest runs of each case go to different halves. Only the fastest run of a half counts, so the function
    compares these two runs. The ratio of a function is the median over its cases.
    """
    differences = []
    for cases in _by_function(measurements).values():
        bests = [sorted(side.runs.values())[:2] for side in cases.values() if len(side.runs) > 1]
        if bests:
            differences.append(statistics.median(following - best for best, following in bests))
    if not differences:
        return None
    return math.exp(sorted(differences)[math.ceil(AGREEING * len(differences)) - 1])


def paper_ratios(before: Sequence[Measurement], after: Sequence[Measurement]) -> dict[str, float]:
    """The ratio of each function by the study's rule: the mean of all runs in ``after``, divided by the mean of all
    runs in ``before``."""
    old, new = (_milliseconds(side) for side in (before, after))
    return {name: statistics.fmean(new[name]) / statistics.fmean(old[name]) for name in old.keys() & new.keys()}


def difference(
    value: float, runs: tuple[int, int], spreads: Spreads, usual: Spreads = NOTHING_USUAL, alpha: float = ALPHA
) -> LatencyDifference:
    """The difference between the best runs before and after, with its interval. ``runs`` has the number of runs of each
    side.

    The spread has two estimates. The one with the wider interval is used. The two together miss the true value in at
    most a share ``alpha`` of intervals.
    """
    bounds = [_pool(spread, prior) for spread, prior in zip(spreads, usual, strict=True)]
    # The best run after exceeds its undisturbed time by at most this, so the true ratio can be lower by as much.
    below, above = (min(greatest_excess(spread, n, alpha / 4) for spread in bounds) for n in (runs[1], runs[0]))
    return LatencyDifference(value, value - below, value + above)


def greatest_excess(spread: Spread, runs: int, alpha: float) -> float:
    """The upper bound of the best run's excess over the undisturbed time. Only a share ``alpha`` of excesses is
    greater."""
    if not spread.freedom:
        return math.inf
    # Fisher's F with 2 and nu degrees of freedom has its quantile in closed form.
    half = spread.freedom / 2
    quantile = half * (math.exp(-math.log(alpha) / half) - 1)
    return quantile * spread.excess / runs


def usual_spreads(functions: Sequence[Spreads]) -> Spreads:
    """The usual spread: the median over functions, which a few outliers do not affect."""
    if len(functions) < FEWEST_FUNCTIONS:
        return NOTHING_USUAL
    return Spreads(_usual([spreads.lower for spreads in functions]), _usual([spreads.all for spreads in functions]))


def _usual(spreads: Sequence[Spread]) -> Spread:
    freedom = statistics.median(spread.freedom for spread in spreads)
    # The median of a chi-squared variable over its mean (Wilson and Hilferty's approximation).
    share = (1 - 2 / (9 * freedom)) ** 3
    return Spread(statistics.median(spread.excess for spread in spreads) / share, WORTH)


def runs_to_tell(runs: tuple[int, int], spreads: Spreads, scale: ChangeScale) -> int | None:
    """The number of additional runs per side with which a change by the factor would be detected, at the same spread;
    None if it is too large."""
    for more in range(1, MOST_RUNS + 1):
        there = runs[0] + more, runs[1] + more
        lower = Spread(spreads.lower.excess, 2 * sum(n // 2 for n in there))
        more_runs_spreads = Spreads(lower, Spread(spreads.all.excess, 2 * sum(n - 1 for n in there)))
        if _excludes_change(difference(0.0, there, more_runs_spreads, scale.usual), scale):
            return more
    return None


class _Function:
    """A function on both sides, with the cases that both sides measured."""

    def __init__(self, name: str, before: Mapping[str, CaseRuns], after: Mapping[str, CaseRuns]) -> None:
        self.name = name
        both = {case: (before[case], after[case]) for case in sorted(before.keys() & after.keys())}
        usable_cases = {case: sides for case, sides in both.items() if not any(side.is_contended for side in sides)}
        self.is_contended = bool(both) and not usable_cases
        self.common = {case: (one.runs, other.runs) for case, (one, other) in usable_cases.items()}
        self.runs = _count(before), _count(after)
        self.contended = _contended_share(before.values()), _contended_share(after.values())
        shares = [_share_of_runs(sides[place] for sides in usable_cases.values()) for place in (0, 1)]
        self.waited = max(share or 0.0 for share in shares)
        self.case_spreads = {case: _spreads(*runs) for case, runs in self.common.items()}

    @property
    def is_enough(self) -> bool:
        return bool(self.common) and min(self.runs) >= 2

    @property
    def spreads(self) -> Spreads:
        """The spread of the function's runs. The cases of a run are disturbed together, so runs count, not cases."""
        lower, every = zip(*self.case_spreads.values(), strict=True)
        return Spreads(_median_spread(lower), _median_spread(every))

    @property
    def value(self) -> float:
        return statistics.median(_value(*sides) for sides in self.common.values())


def _latency_change(function: _Function, scale: ChangeScale) -> LatencyChange:
    cases, runs, contended_shares = len(function.common), function.runs, function.contended
    if not function.is_enough:
        missing = _missing(function)
        return LatencyChange(function.name, "insufficient data", None, None, cases, runs, contended_shares, why=missing)
    scale = scale.of(function.waited)
    estimate = difference(function.value, runs, function.spreads, scale.usual)
    own = _changed_cases(function, scale)
    change = _decide(estimate, own, scale)
    why = _advice(function, scale) if change == "insufficient data" else None
    interval = estimate.interval if estimate.is_bounded else None
    return LatencyChange(function.name, change, estimate.ratio, interval, cases, runs, contended_shares, own, why)


def _decide(estimate: LatencyDifference, own: Sequence[CaseLatencyChange], scale: ChangeScale) -> Speed:
    """The verdict for a function. The function changed if one of its cases surely changed, or if its overall difference
    shows a change.
    """
    words = {estimate.direction(scale.least), *(case.change for case in own)}
    if "slower" in words:
        return "slower"
    if "faster" in words:
        return "faster"
    return "same" if _excludes_change(estimate, scale) else "insufficient data"


def _changed_cases(function: _Function, scale: ChangeScale) -> tuple[CaseLatencyChange, ...]:
    """The cases whose latency changed.

    Because many cases are tested, each is tested at a stricter level: ``ALPHA`` divided by the number of cases. Other
    processes can interrupt a long call in some runs only, which adds far more than the usual spread. So, in addition,
    every run of one side must be slower than every run of the other side.
    """
    alpha = ALPHA / len(function.common)
    excesses = [_pool(spread, prior).excess for spread, prior in zip(function.spreads, scale.usual, strict=True)]
    prior = Spreads(*(Spread(excess, WORTH) for excess in excesses))
    changes = []
    for case, sides in function.common.items():
        own = difference(_value(*sides), (len(sides[0]), len(sides[1])), function.case_spreads[case], prior, alpha)
        change = own.sure_direction(scale.least)
        if min(map(len, sides)) >= 2 and change and _are_apart(*sides, scale.least):
            changes.append(CaseLatencyChange(case, change, own.ratio, own.interval))
    return tuple(sorted(changes, key=lambda change: -abs(math.log(change.ratio))))


def _are_apart(before: Runs, after: Runs, least: float) -> bool:
    """Whether every run of one side is slower than every run of the other side, by more than ``least``."""
    fast, slow = sorted((before.values(), after.values()), key=min)
    return min(slow) - max(fast) > least


def _excludes_change(estimate: LatencyDifference, scale: ChangeScale) -> bool:
    """Whether the interval is narrow enough to exclude a change by ``scale.factor``.

    If it is, and no change was found, the function counts as unchanged. If it is not, there are too few data.
    """
    looked_for = math.log(scale.factor)
    return scale.least < looked_for and -looked_for < estimate.low and estimate.high < looked_for


def _missing(function: _Function) -> str:
    if function.is_contended:
        return (
            "threads waited for a core in most samples of all runs of one side, or of all but one: "
            "measure that side again on a less busy host"
        )
    if not function.common:
        side = next((letter for letter, runs in zip("AB", function.runs, strict=True) if not runs), None)
        return f"not measured on {side}" if side else "no case was measured on both sides"
    more = 2 - min(function.runs)
    return f"{plural(more, 'run')} more per side would be the minimum to show a change"


def _advice(function: _Function, scale: ChangeScale) -> str:
    change = f"a change of {100 * (scale.factor - 1):.0f} %"
    if scale.least >= math.log(scale.factor):
        return f"the host alone shows changes of {ratio(math.exp(scale.least))}, so {change} could not be detected"
    more = runs_to_tell(function.runs, function.spreads, scale)
    if more is None:
        return f"too noisy: more than {MOST_RUNS} more runs per side would be needed to show {change}"
    return f"{plural(more, 'run')} more per side would show {change}"


def _by_function(measurements: Sequence[Measurement]) -> dict[str, dict[str, CaseRuns]]:
    by_function: dict[str, dict[str, CaseRuns]] = {}
    for one in measurements:
        if one.milliseconds > 0:
            side = by_function.setdefault(one.function, {}).setdefault(one.case, CaseRuns({}, {}))
            side.shares[one.run] = one.contended_share
            if not one.contended:
                side.runs[one.run] = math.log(one.milliseconds)
    return by_function


def _contended_share(sides: Iterable[CaseRuns]) -> float | None:
    return _mean(share for side in sides for share in side.shares.values())


def _share_of_runs(sides: Iterable[CaseRuns]) -> float | None:
    """The mean share of samples that waited for a core, over the runs that are not excluded."""
    return _mean(side.shares[run] for side in sides for run in side.runs)


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return statistics.fmean(numbers) if numbers else None


def _milliseconds(measurements: Sequence[Measurement]) -> dict[str, list[float]]:
    by_function: dict[str, list[float]] = {}
    for one in measurements:
        if one.milliseconds > 0:
            by_function.setdefault(one.function, []).append(one.milliseconds)
    return by_function


def _count(cases: Mapping[str, CaseRuns]) -> int:
    return len({run for side in cases.values() for run in side.runs})


def _value(before: Runs, after: Runs) -> float:
    return min(after.values()) - min(before.values())


def _spreads(before: Runs, after: Runs) -> Spreads:
    """The spread of both sides together: the excess of each side's runs over the best run of that side.

    A run in a burst of disturbance does not show how close the best run is to the undisturbed time. So the lower half
    is also estimated separately.
    """
    sides = [list(runs.values()) for runs in (before, after)]
    lower, every = ([estimate(runs) for runs in sides] for estimate in (_lower_half, _all_runs))
    return Spreads(_pool(*lower), _pool(*every))


def _all_runs(runs: Sequence[float]) -> Spread:
    others = len(runs) - 1
    return Spread((sum(runs) - len(runs) * min(runs)) / others, 2 * others) if others else UNKNOWN


def _lower_half(runs: Sequence[float]) -> Spread:
    """The spread of the lower half. The upper half counts as if it were as high as the highest run of the lower half,
    as in a test that stops there (type II censoring)."""
    best, *lower = sorted(runs)[: len(runs) // 2 + 1]
    if not lower:
        return UNKNOWN
    total = sum(run - best for run in lower) + (len(runs) - 1 - len(lower)) * (lower[-1] - best)
    return Spread(total / len(lower), 2 * len(lower))


def _median_spread(spreads: Sequence[Spread]) -> Spread:
    return Spread(
        statistics.median(spread.excess for spread in spreads),
        round(statistics.median(spread.freedom for spread in spreads)),
    )


def _pool(spread: Spread, usual: Spread) -> Spread:
    freedom = spread.freedom + usual.freedom
    if not freedom:
        return spread
    return Spread((spread.freedom * spread.excess + usual.freedom * usual.excess) / freedom, freedom)
