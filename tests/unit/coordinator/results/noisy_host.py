"""Simulates a host that other processes keep busy, and the samples of campaigns on it.

The host has two cores and a number of endless loops. A call that is preempted waits for its turn. A process on the same
core slows all samples for a while. Other disturbances last milliseconds or minutes. The clock drifts, and processes
differ slightly from each other. One function in five uses several threads. These wait for a core in as many samples as
was measured on two cores with the same number of loops; ``_of_threads`` has the measured durations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from coordinator.results.comparison.latencies import Measurement
from runners.isolation.timing import CONTENDED, FEWEST_SAMPLES, WAITED

CORES = 2
SLICE_MS = 3.0
LEAST_SAMPLE_MS = 0.1
BUDGET_MS = 200.0
LOW = 0.05
THREADED = 5
"""One function in this many uses threads."""


@dataclass(frozen=True)
class Host:
    """A host on which ``loops`` processes use the cores."""

    loops: int
    functions: int = 60
    runs: int = 3

    def campaign(self, seed: int, slow_functions: Collection[str] = (), factor: float = 1.5) -> list[Measurement]:
        """The levels of each run. Calls of the ``slow_functions`` functions take this many times as long."""
        generator = np.random.default_rng([seed, self.loops])
        drift = generator.uniform(0, 2 * np.pi)
        measurements = []
        for run in range(1, self.runs + 1):
            for number, (name, cases) in enumerate(self._suite()):
                moment = 2 * np.pi * (run * self.functions + number) / (self.runs * self.functions)
                process = np.exp(generator.normal(0, 0.015) + 0.03 * np.sin(drift + moment))
                burst = generator.random() < 0.04
                for case, milliseconds in cases:
                    call = milliseconds * (factor if name in slow_functions else 1.0) * process
                    level, share = self._alone(generator, call * (generator.uniform(1.3, 3.0) if burst else 1.0))
                    if self.is_threaded(name) and self.loops:
                        level, share = self._of_threads(generator, call)
                    measurements.append(Measurement(name, case, run, level, share > CONTENDED, share))
        return measurements

    @staticmethod
    def is_threaded(name: str) -> bool:
        return not int(name[1:]) % THREADED

    def _of_threads(self, generator: np.random.Generator, call: float) -> tuple[float, float]:
        """The level of a call with two threads, and the share of its samples that waited.

        If most samples waited, the remaining ones take twice the call's own time or more. If all waited, they contain
        whole time slices of the scheduler.
        """
        share = float(generator.beta(0.5 * self.loops, 0.6))
        if share > 0.98:
            return call + SLICE_MS * generator.uniform(1.0, 1.3), 1.0
        spread = 0.6 if share > CONTENDED else 0.5 * share
        return call * float(np.exp(np.abs(generator.normal(0, spread)))), share

    def _suite(self) -> Iterator[tuple[str, list[tuple[str, float]]]]:
        """The functions and cases, the same on every host, with calls of 2 µs to 50 ms."""
        generator = np.random.default_rng(14)
        for number in range(self.functions):
            name = f"f{number}"
            usual = 10 ** generator.uniform(-2.7, 1.7)
            cases = int(generator.integers(2, 13))
            yield name, [(f"{name}/{case}", usual * 2 ** generator.normal(0, 0.7)) for case in range(cases)]

    def _alone(self, generator: np.random.Generator, call: float) -> tuple[float, float]:
        """The level of a call with one thread, and the share of its samples that waited. Samples that waited are
        excluded if enough others exist. Each sample has as many calls as take 0.1 ms."""
        lasts = max(call, LEAST_SAMPLE_MS)
        number = int(np.clip(BUDGET_MS / (lasts * self._share), 3, 40))
        samples = np.full(number, lasts)
        samples *= np.exp(np.abs(generator.normal(0, 0.02, number)))
        samples *= 1 + self._beside(generator, number)
        waits = self._waits(generator, lasts, number)
        is_delayed = waits > WAITED * samples
        is_kept = ~is_delayed if np.count_nonzero(~is_delayed) >= FEWEST_SAMPLES else is_delayed
        return float(np.quantile((samples + waits)[is_kept], LOW)) / lasts * call, float(np.mean(is_delayed))

    @property
    def _share(self) -> float:
        return max(1.0, (self.loops + 1) / CORES)

    def _beside(self, generator: np.random.Generator, number: int) -> np.ndarray:
        """The slowdown by processes that share the core and its caches, constant for a while."""
        if not self.loops:
            return np.zeros(number)
        whole = generator.uniform(0.2, 0.3)
        return np.where(generator.random(number) < 0.3, generator.uniform(0, whole, number), whole)

    def _waits(self, generator: np.random.Generator, lasts: float, number: int) -> np.ndarray:
        """The waiting time of a process that has used up its time slice, until the others have used theirs."""
        others = max(0, self.loops + 1 - CORES) / CORES
        # In turn: how often is nearly certain, how long is not.
        times = np.floor(lasts / SLICE_MS + generator.random(number))
        return times * SLICE_MS * others * generator.uniform(0.6, 1.4, number)
