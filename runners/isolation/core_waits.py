"""Measures how long threads of this process waited for a core, and how busy other processes kept the cores.

A call that uses several threads ends with the slowest of them. On a busy host, one of them may wait for a core for a
time slice of the scheduler or more, so a call of microseconds takes milliseconds. The host caused that time, not the
call.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

TASKS = "/proc/self/task"
CORES = "/proc/stat"
_LINE = 64
_NS_A_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_IDLE = (3, 4)
"""The places of idle and iowait among a core's counts; the last two, of guests, are in user and nice already."""


class CoreWaits:
    """Reads the kernel's counts for each thread that exists when it is created; for no thread if the kernel does not
    count.
    """

    def __init__(self) -> None:
        self._files: list[int] = []
        with suppress(OSError):
            for task in os.listdir(TASKS):
                with suppress(OSError):
                    self._files.append(os.open(f"{TASKS}/{task}/schedstat", os.O_RDONLY | os.O_CLOEXEC))

    def total_ns(self) -> int:
        """Total waiting time of all current threads since each began, in nanoseconds. Ended threads do not count."""
        total = 0
        for file in self._files:
            with suppress(OSError, IndexError, ValueError):
                total += int(os.pread(file, _LINE, 0).split()[1])
        return total

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []


class OthersOnCores:
    """Measures, from its creation on, how much of the cores that this process may use was taken by others."""

    def __init__(self) -> None:
        self._cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        self._began = self._now()

    def cores(self) -> float:
        """The number of cores that others kept busy on average; infinite if the kernel does not count.

        The kernel counts in ticks of 10 ms, so the number is imprecise for less than a tenth of a second.
        """
        (busy, own, clock), (busy_then, own_then, clock_then) = self._now(), self._began
        if not busy or clock == clock_then:
            return float("inf")
        return max(0.0, (busy - busy_then) - (own - own_then)) / (clock - clock_then)

    def _now(self) -> tuple[int, int, int]:
        return self._busy_ns(), time.process_time_ns(), time.perf_counter_ns()

    def _busy_ns(self) -> int:
        """Nanoseconds in which these cores were not idle, including the time that the hypervisor took."""
        busy = 0
        with suppress(OSError, ValueError), open(CORES) as file:
            for line in file:
                name, *counts = line.split()
                if name in self._cores:
                    ticks = [int(count) for count in counts[:8]]
                    busy += sum(ticks) - sum(ticks[place] for place in _IDLE)
        return busy * _NS_A_TICK
