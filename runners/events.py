"""The event log: what happened since this boot, numbered, kept until it is acknowledged.

Events are serialised once, when they happen, and read by any number of streams. The log is
bounded: when nobody acknowledges, ``room`` makes the execution wait; nothing is dropped.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from protocol.events import Finished, Heartbeat, Running, Started
from protocol.outcomes import Outcome

MAX_EVENTS = 20_000
MAX_BYTES = 16 << 20
BATCH = 1_000
"""How many events one read returns at most."""


class TrimmedError(LookupError):
    """The events after this number were acknowledged and forgotten."""


class AheadError(LookupError):
    """This number has not been issued yet."""


@dataclass(frozen=True, slots=True)
class _Entry:
    line: bytes
    finished: tuple[str, int] | None


class EventLog:
    """Numbered from 1, without gaps."""

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self.acknowledged = 0
        self.closed = False
        self._entries: list[_Entry] = []
        self._bytes = 0
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._changed = asyncio.Event()

    @property
    def last(self) -> int:
        return self.acknowledged + len(self._entries)

    @property
    def has_room(self) -> bool:
        return len(self._entries) < self._max_events and self._bytes < self._max_bytes

    def started(self, id: str, attempt: int) -> None:
        event = Started(n=self.last + 1, id=id, attempt=attempt)
        self._append(event.model_dump_json().encode(), None)

    def finished(self, id: str, attempt: int, outcome: Outcome) -> None:
        event = Finished(n=self.last + 1, id=id, attempt=attempt, outcome=outcome)
        self._append(event.model_dump_json().encode(), (id, attempt))

    def heartbeat(self, queued: int, running: list[Running]) -> bytes:
        """A line that takes no number and is not kept."""
        return Heartbeat(n=self.last, queued=queued, running=running).model_dump_json().encode() + b"\n"

    def after(self, n: int) -> tuple[int, bytes]:
        """The next events after ``n``, one a line, and the number of the last of them."""
        if n < self.acknowledged:
            raise TrimmedError(
                f"events up to {self.acknowledged} were acknowledged and are gone; ask after that"
            )
        if n > self.last:
            raise AheadError(f"the last event is {self.last}, there is nothing after {n} to wait for")
        start = n - self.acknowledged
        batch = self._entries[start : start + BATCH]
        return n + len(batch), b"".join([entry.line for entry in batch])

    def acknowledge(self, n: int) -> list[tuple[str, int]]:
        """Forget up to ``n``; returns the attempts whose ids can be forgotten with it."""
        if n > self.last:
            raise AheadError(f"the last event is {self.last}, so {n} cannot have been stored")
        count = n - self.acknowledged
        if count <= 0:
            return []
        gone = self._entries[:count]
        del self._entries[:count]
        self.acknowledged = n
        self._bytes -= sum(len(entry.line) for entry in gone)
        self._wake()
        return [entry.finished for entry in gone if entry.finished]

    async def wait_for_event(self, after: int, timeout_s: float) -> bool:
        """Wait until there is an event after ``after``; False if there was none in time."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.last <= after and not self.closed:
                    await self._changed.wait()
        except TimeoutError:
            return False
        return self.last > after

    async def room(self) -> None:
        """Wait until another attempt's events can be kept."""
        while not self.has_room:
            await self._changed.wait()

    def close(self) -> None:
        """End every wait for events: the service is stopping."""
        self.closed = True
        self._wake()

    def _append(self, line: bytes, finished: tuple[str, int] | None) -> None:
        self._entries.append(_Entry(line + b"\n", finished))
        self._bytes += len(line) + 1
        self._wake()

    def _wake(self) -> None:
        # Waiters hold the old event; a new one is made so that each change wakes them once.
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
