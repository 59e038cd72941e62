"""The clock of one job: measures the time since its case began, without waits for the timing lock. Pure."""

from __future__ import annotations

import math


class Clock:
    """All times are seconds of this machine's monotonic clock, which children and supervisor share."""

    def __init__(self, timeout_s: float, now: float) -> None:
        self.timeout_s = timeout_s
        self._began = now
        self._waited = 0.0
        self._waiting_since: float | None = None

    def begin(self, at: float) -> None:
        """Set the start to the time at which the child began its case."""
        self._began = max(at, self._began)

    def pause(self, at: float) -> None:
        if self._waiting_since is None:
            self._waiting_since = max(at, self._began)

    def resume(self, at: float) -> None:
        if self._waiting_since is not None:
            self._waited += max(at - self._waiting_since, 0.0)
            self._waiting_since = None

    def elapsed_s(self, now: float) -> float:
        until = now if self._waiting_since is None else self._waiting_since
        return max(until - self._began - self._waited, 0.0)

    def waited_s(self, now: float) -> float:
        """Seconds spent waiting for the timing lock, which ``elapsed_s`` excludes."""
        pending = 0.0 if self._waiting_since is None else max(now - self._waiting_since, 0.0)
        return self._waited + pending

    def left(self, now: float) -> float:
        """Seconds until the deadline; infinite while the case waits for the timing lock."""
        return math.inf if self._waiting_since is not None else self.timeout_s - self.elapsed_s(now)
