"""Waiting for a core: how long the threads of this process were ready to run, and the host let others run.

A call that shares its work among threads ends with the slowest of them. On a host that is busy one of them waits for a
core, a slice of the scheduler or more, and a call of microseconds takes milliseconds: that time is the host's.
"""

from __future__ import annotations

import os
from contextlib import suppress

TASKS = "/proc/self/task"
_LINE = 64


class CoreWaits:
    """Reads what the kernel counts for each thread that there is when it is made; of no thread where it counts none."""

    def __init__(self) -> None:
        self._files: list[int] = []
        with suppress(OSError):
            for task in os.listdir(TASKS):
                with suppress(OSError):
                    self._files.append(os.open(f"{TASKS}/{task}/schedstat", os.O_RDONLY | os.O_CLOEXEC))

    def total_ns(self) -> int:
        """Nanoseconds of all threads together, ever since each began. One that has ended counts no more."""
        total = 0
        for file in self._files:
            with suppress(OSError, IndexError, ValueError):
                total += int(os.pread(file, _LINE, 0).split()[1])
        return total

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []
