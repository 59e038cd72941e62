"""The DELETEs that a session still has to send to its runner. The queue contains an attempt at most once, and no
attempt that has ended."""

from __future__ import annotations

import asyncio

from coordinator.dispatch.leases import Key


class StopQueue:
    """Attempts for which a DELETE must be sent to the runner. An attempt is in the queue from ``put`` until
    ``remove``."""

    def __init__(self) -> None:
        self._waiting: dict[Key, None] = {}
        self._taken: set[Key] = set()
        self._arrived = asyncio.Event()
        self._emptied = asyncio.Event()
        self._emptied.set()

    def put(self, key: Key) -> None:
        # The DELETE of this attempt is already being sent.
        if key not in self._taken:
            self._waiting[key] = None
            self._arrived.set()
            self._emptied.clear()

    def remove(self, key: Key) -> None:
        """Remove an attempt that has ended or whose DELETE was answered."""
        self._waiting.pop(key, None)
        self._taken.discard(key)
        if not self._waiting and not self._taken:
            self._emptied.set()

    def clear(self) -> None:
        self._waiting.clear()
        self._taken.clear()
        self._emptied.set()

    async def all_answered(self) -> None:
        """Wait until the queue is empty."""
        await self._emptied.wait()

    async def take(self, most: int) -> list[Key]:
        """Wait until there is at least one attempt, and return the attempts that have waited longest, at most
        ``most``."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        keys = list(self._waiting)[:most]
        for key in keys:
            del self._waiting[key]
        self._taken.update(keys)
        return keys
