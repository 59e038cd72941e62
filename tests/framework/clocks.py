"""Our steady medians against another clock's, call by call."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from timeit import Timer
from typing import Any

from runners import timing

Call = Callable[[], Any]
Theirs = Callable[[Call], float]
"""Microseconds of one call, by the other clock."""


def assert_agree(calls: Mapping[str, Call], wait: timing.Wait, theirs: Theirs) -> None:
    told = [_disagreement(calls, wait, theirs)]
    # Other processes of a busy host hit one side of a pair: a real difference is there every time.
    while told[-1] is not None and len(told) < 5:
        told.append(_disagreement(calls, wait, theirs))
    assert told[-1] is None, told


def _disagreement(calls: Mapping[str, Call], wait: timing.Wait, theirs: Theirs) -> str | None:
    found = {name: _ratio(call, wait, theirs) for name, call in calls.items()}
    ratios = [each for each, _ in found.values()]
    slower = [each for each, microseconds in found.values() if microseconds > 20]
    close = sum(0.8 <= each <= 1.25 for each in slower) >= 0.9 * len(slower)
    return None if 0.85 <= statistics.median(ratios) <= 1.15 and close else f"disagrees: {found}"


def _ratio(call: Call, wait: timing.Wait, theirs: Theirs) -> tuple[float, float]:
    """Ours over theirs, and their microseconds; alternating, each side's least disturbed round."""
    ours, others = [], []
    for _ in range(5):
        ours.append(timing.median(timing.steady(call, wait, budget_s=0.05).milliseconds) * 1e3)
        others.append(theirs(call))
    return min(ours) / min(others), min(others)


def timed(call: Call) -> float:
    """Microseconds by the standard library's ``timeit``, which repeats a call for as long as a sample needs."""
    timer = Timer(call)
    number = max(1, int(2e-3 / max(timer.timeit(2) / 2, 1e-7)))
    return statistics.median(timer.repeat(15, number)) / number * 1e6
