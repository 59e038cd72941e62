"""Slots: so many pieces of work of one kind at a time, so many more that wait, and no further."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from coordinator.errors import TooManyError


class Slots:
    """``async with slots.hold(): …``; raises ``TooManyError`` where there is no room, or none within ``patience_s``."""

    def __init__(self, noun: str, at_once: int, waiting: int = 0, patience_s: float = 60.0) -> None:
        self._noun = noun
        self._at_once = at_once
        self._waiting = waiting
        self._patience_s = patience_s
        self._held = 0
        self._turns = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        if self._held >= self._at_once + self._waiting:
            raise self._full()
        self._held += 1
        try:
            await self._turn()
            try:
                yield
            finally:
                self._turns.release()
        finally:
            self._held -= 1

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
        return TooManyError(
            f"there are {self._at_once} {self._noun} at a time{more}, and no room for another: try again in a moment"
        )
