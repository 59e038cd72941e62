"""Limits the concurrent work of one kind, with a bounded queue and a limit per caller."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from coordinator.errors import TooManyError


class Slots:
    """Limits how many operations run and wait at once, in total and per caller: ``async with slots.hold("ann"): …``.

    ``hold`` raises ``TooManyError`` if the queue is full, if no slot becomes free within ``patience_s``, or if the
    caller already has ``each`` operations that run or wait.
    """

    def __init__(self, noun: str, at_once: int, waiting: int = 0, *, each: int, patience_s: float = 60.0) -> None:
        self._noun = noun
        self._at_once = at_once
        self._waiting = waiting
        self._each = each
        self._patience_s = patience_s
        self._held: Counter[str] = Counter()
        self._turns = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def hold(self, who: str) -> AsyncIterator[None]:
        if self._held[who] >= self._each:
            raise TooManyError(
                f"one caller may have at most {self._each} {self._noun}, including those that wait: "
                "try again when one is done"
            )
        if self._held.total() >= self._at_once + self._waiting:
            raise self._full()
        self._held[who] += 1
        try:
            await self._turn()
            try:
                yield
            finally:
                self._turns.release()
        finally:
            self._held[who] -= 1
            self._held += Counter()  # removes callers without a slot

    async def _turn(self) -> None:
        if not self._turns.locked():
            await self._turns.acquire()
            return
        try:
            async with asyncio.timeout(self._patience_s):
                await self._turns.acquire()
        except TimeoutError as error:
            raise self._full() from error

    def _full(self) -> TooManyError:
        more = f" and {self._waiting} wait" if self._waiting else ""
        return TooManyError(f"all {self._at_once} slots for {self._noun} are in use{more}: try again in a moment")
