"""Measures the time of a call in the same way on every device, and computes statistics of the samples.

The sequence is: wait, start the clock, call, wait for every array in the result, stop the clock. In a lazy or
asynchronous framework, a call returns before its work is done, so the clock stops only when the result is ready. On the
host, this wait takes no time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from time import perf_counter_ns
from typing import Any

from protocol.garbage import garbage_collection_paused
from runners.isolation.core_waits import CoreWaits, OthersOnCores

Call = Callable[[], Any]
Wait = Callable[[Any], None]

BUDGET_S = 0.2
QUICK_BUDGET_S = 0.02
WARM_UP_S = 0.05
LEAST_WARM_UP_S = 0.005
"""The minimum time of the warm-up. Calls of microseconds keep getting faster for hundreds of calls. Longer calls reach
their final speed at the second call.
"""
LEAST_SPAN_S = 0.010
"""The minimum total time of all samples. Samples of 1.5 ms in total were up to a third too long, because they show only
one moment.
"""
MIN_SAMPLES = 10
MAX_SAMPLES = 200
FEWEST_SAMPLES = 3
"""The minimum number of samples, even for a call that takes longer than the budget."""
SAMPLE_NS = 100_000
"""The minimum duration of a sample, so that the time of reading the clock does not matter."""
MAX_CALLS = 10_000
WAITED = 0.1
"""The maximum share of a sample during which threads may wait for a core. A longer wait means that the sample measures
the host, not the call."""
CONTENDED = 0.5
"""If more than this share of samples waited for a core, the times are marked as contended.

Measured with calls of two threads on two busy cores. If few samples had waited, the best of the others was within 10 %
of the call's own time in nine of ten runs. If most had waited, the best was twice that time.
"""
OTHERS = 0.2
"""If others use fewer cores than this on average, the waiting threads of this process wait for each other."""
PATIENCE = 3
"""To find samples that did not wait, at most this many times the budget is spent."""
ENOUGH = 0.01
"""Sampling stops when the relative error of the median is below this."""


@dataclass(frozen=True)
class Samples:
    """The steady-state times of one call."""

    milliseconds: list[float]
    """The time per call of each sample during which no thread waited for a core; if too few, of the other samples."""
    calls_per_sample: int
    contended_share: float = 0.0
    """The share of all samples during which threads waited for a core that others used."""

    @property
    def contended(self) -> bool:
        """Whether most samples waited for a core. Then the times may be too long by an unknown amount."""
        return self.contended_share > CONTENDED


def cold(call: Call, wait: Wait) -> tuple[Any, float]:
    """Make the first call. Returns its result and its time in milliseconds."""
    wait(None)
    start = perf_counter_ns()
    result = call()
    wait(result)
    return result, (perf_counter_ns() - start) / 1e6


def steady(call: Call, wait: Wait, *, budget_s: float) -> Samples:
    """Warm up, then take samples until the median is precise enough or the budget is used.

    Samples in which threads waited for a core are left out if there are enough others, and sampling continues longer
    (``PATIENCE``) to find others.
    """
    with garbage_collection_paused():
        wait(None)
        estimate = _warm_up(call, wait, min(WARM_UP_S, budget_s))
        calls = calls_per_sample(estimate)
        waits, others = CoreWaits(), OthersOnCores()
        try:
            quiet_ms, contended_ms = _sample_until_enough(call, wait, calls, waits, int(budget_s * 1e9))
        finally:
            waits.close()
        return samples(quiet_ms, contended_ms, calls, others.cores())


def samples(quiet_ms: list[float], contended_ms: list[float], calls: int, others_cores: float) -> Samples:
    """Choose the samples that represent the call. Pure."""
    durations_ms = quiet_ms if len(quiet_ms) >= FEWEST_SAMPLES else contended_ms
    contended_count = 0 if others_cores < OTHERS else len(contended_ms)
    return Samples(durations_ms, calls, contended_count / (len(quiet_ms) + len(contended_ms)))


def _sample_until_enough(
    call: Call, wait: Wait, calls: int, waits: CoreWaits, budget_ns: int
) -> tuple[list[float], list[float]]:
    """Take samples. Returns the ms per call of samples in which no thread waited for a core, and of the others."""
    quiet_ms: list[float] = []
    contended_ms: list[float] = []
    began = perf_counter_ns()
    before = waits.total_ns()
    while True:
        used_ns = perf_counter_ns() - began
        if enough(quiet_ms, budget_used=used_ns >= budget_ns, spans_enough=used_ns >= LEAST_SPAN_S * 1e9):
            return quiet_ms, contended_ms
        if len(contended_ms) >= FEWEST_SAMPLES and (
            used_ns >= PATIENCE * budget_ns or len(contended_ms) >= MAX_SAMPLES
        ):
            return quiet_ms, contended_ms
        took = _sample(call, wait, calls)
        after = waits.total_ns()
        (contended_ms if after - before > WAITED * took else quiet_ms).append(took / calls / 1e6)
        before = after


def calls_per_sample(estimate_ns: float) -> int:
    return min(MAX_CALLS, max(1, math.ceil(SAMPLE_NS / max(estimate_ns, 1.0))))


def enough(samples: Sequence[float], *, budget_used: bool, spans_enough: bool = True) -> bool:
    """Whether to stop sampling."""
    if budget_used and len(samples) >= FEWEST_SAMPLES:
        return True
    if len(samples) >= MAX_SAMPLES:
        return True
    return spans_enough and len(samples) >= MIN_SAMPLES and len(samples) % 5 == 0 and relative_error(samples) < ENOUGH


def median(values: Sequence[float]) -> float:
    return quantile(values, 0.5)


def interquartile_range(values: Sequence[float]) -> float:
    return quantile(values, 0.75) - quantile(values, 0.25)


def quantile(values: Sequence[float], share: float) -> float:
    """Compute a quantile by linear interpolation between the closest ranks."""
    if not values:
        raise ValueError("a quantile needs at least one value")
    ascending = sorted(values)
    position = share * (len(ascending) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (ascending[above] - ascending[below]) * (position - below)


def relative_error(values: Sequence[float]) -> float:
    """Return half the width of the median's 95 % interval, divided by the median (McGill, Tukey and Larsen's notch)."""
    middle = median(values)
    if middle <= 0:
        return math.inf
    return 1.57 * interquartile_range(values) / math.sqrt(len(values)) / middle


def _sample(call: Call, wait: Wait, calls: int) -> int:
    """Make this many calls and wait for each result. Returns the total nanoseconds."""
    rounds = repeat(None, calls)
    start = perf_counter_ns()
    for _ in rounds:
        wait(call())
    return perf_counter_ns() - start


def _warm_up(call: Call, wait: Wait, limit_s: float) -> float:
    """Call until two consecutive calls take about the same time, or the limit is used.

    Calls at least twice, because the second call may compile again. Returns the nanoseconds of the faster of the last
    two calls.
    """
    began = perf_counter_ns()
    least, deadline = began + int(LEAST_WARM_UP_S * 1e9), began + int(limit_s * 1e9)
    before = _sample(call, wait, 1)
    while True:
        last = _sample(call, wait, 1)
        now = perf_counter_ns()
        if now >= deadline or (now >= least and abs(last - before) <= 0.2 * before):
            return min(last, before)
        before = last
