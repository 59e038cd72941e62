"""An alarm of the event loop, which can be set to an earlier time."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable


class Alarm:
    """Calls ``ring`` once, at the earliest time that was set since the last call."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._at = math.inf

    def set(self, at: float) -> None:
        """Ring at this time, in seconds on the monotonic clock. An alarm that is set to an earlier time stays."""
        if at < self._at:
            self.cancel()
            self._at = at
            self._timer = asyncio.get_running_loop().call_later(max(at - time.monotonic(), 0.0), self._go_off)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._at = None, math.inf

    def _go_off(self) -> None:
        self._timer, self._at = None, math.inf
        self._ring()
