"""Measures how long threads of this process waited for a core, and how busy other processes kept the cores.

A call with several threads ends when its slowest thread ends. On a busy host, a thread may wait for a core for a time
slice of the scheduler or longer, so a call of microseconds takes milliseconds. This time is the host's, not the call's.
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
"""The indices of idle and iowait in a core's line. (The last two counts, guest times, are already part of others.)"""


class CoreWaits:
    """Reads the kernel's wait times of the threads that existed when this object was created.

    If the kernel does not count wait times, the total is 0.
    """

    def __init__(self) -> None:
        self._files: list[int] = []
        with suppress(OSError):
            for task in os.listdir(TASKS):
                with suppress(OSError):
                    self._files.append(os.open(f"{TASKS}/{task}/schedstat", os.O_RDONLY | os.O_CLOEXEC))

    def total_ns(self) -> int:
        """Return the total wait time of these threads since they began, in nanoseconds, without ended threads."""
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
    """Measures how many of the cores that this process may use were taken by others since this object was created."""

    def __init__(self) -> None:
        self._cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        self._began = self._now()

    def cores(self) -> float:
        """Return how many cores others kept busy on average; infinite if the kernel does not count.

        The kernel counts in ticks of 10 ms, so the number is imprecise for times below a tenth of a second.
        """
        (busy, own, clock), (busy_then, own_then, clock_then) = self._now(), self._began
        if not busy or clock == clock_then:
            return float("inf")
        return max(0.0, (busy - busy_then) - (own - own_then)) / (clock - clock_then)

    def _now(self) -> tuple[int, int, int]:
        return self._busy_ns(), time.process_time_ns(), time.perf_counter_ns()

    def _busy_ns(self) -> int:
        """Return the nanoseconds in which these cores were not idle, including time that the hypervisor took."""
        busy = 0
        with suppress(OSError, ValueError), open(CORES) as file:
            for line in file:
                name, *counts = line.split()
                if name in self._cores:
                    ticks = [int(count) for count in counts[:8]]
                    busy += sum(ticks) - sum(ticks[place] for place in _IDLE)
        return busy * _NS_A_TICK
