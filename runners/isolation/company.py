"""The company that cases keep: which of a supervisor's slots may be at work at the same time.

Untimed cases run beside each other, one in each slot. A timed case, and the confirmation of a failure that another
case may have caused, runs alone. The decision is ``Company``'s; what runs is the slots'.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable


class Company:
    """Any number beside each other, or one alone; who waits to be alone is let in before others begin."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._together = 0
        self._alone = False
        self._asking = 0
        self._changed = asyncio.Event()

    @property
    def is_asked_for_silence(self) -> bool:
        """Whether somebody waits to be alone, so that nothing should be begun that can wait."""
        return self._asking > 0

    async def join(self, unless: Callable[[], bool]) -> bool:
        """Begin beside the others; whether so, or ``unless`` came true before."""
        await self._until(lambda: unless() or not (self._alone or self._asking))
        if unless():
            return False
        self._together += 1
        return True

    def part(self) -> None:
        """Be at work no longer."""
        self._together -= 1
        self.look_again()

    @contextlib.asynccontextmanager
    async def alone(self, unless: Callable[[], bool]) -> AsyncIterator[None]:
        """While nobody else is at work, or ``unless`` came true before. Who had joined has to part first."""
        self._asking += 1
        try:
            await self._until(lambda: unless() or not (self._alone or self._together))
            mine = not unless()
            self._alone |= mine
        finally:
            self._asking -= 1
            self.look_again()
        try:
            yield
        finally:
            self._alone &= not mine
            self.look_again()

    def look_again(self) -> None:
        """Have everybody who waits look whether that is over."""
        self._changed.set()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()
