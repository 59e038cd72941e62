"""The event log: the numbered events of this boot. Each event is kept until it is acknowledged.

Each event is serialized once, when it happens. Any number of streams can read it. The size of the log is limited: if
nobody acknowledges events, the log reports that it is full, the execution waits, and no event is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from protocol.events import Heartbeat, Running
from protocol.outcomes import Outcome
from runners.errors import AheadError, TrimmedError

MAX_EVENTS = 20_000
MAX_BYTES = 16 << 20
BATCH = 1_000
"""Maximum number of events that one read returns."""


_Entry = tuple[bytes, tuple[str, int] | None]
"""A line of the log, with the attempt that the event finishes, if any."""


class EventLog:
    """The log of events. They are numbered from 1, without gaps."""

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self.acknowledged = 0
        self.closed = False
        self.on_full: Callable[[], None] = lambda: None
        """Called when the log has no room for another attempt's events."""
        self.on_room: Callable[[], None] = lambda: None
        """Called when a full log has room again."""
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

    # Two lines per job, written by hand, because the models would take four times as long.
    # Ids need no escaping (protocol.jobs.Job). The outcome is serialized by its own model.

    def record_start(self, id: str, attempt: int) -> None:
        line = f'{{"type":"started","n":{self.last + 1},"id":"{id}","attempt":{attempt}}}\n'
        self._append(line.encode(), None)

    def record_finish(self, id: str, attempt: int, outcome: Outcome) -> None:
        body = outcome.model_dump_json()
        line = f'{{"type":"finished","n":{self.last + 1},"id":"{id}","attempt":{attempt},"outcome":{body}}}\n'
        self._append(line.encode(), (id, attempt))

    @staticmethod
    def heartbeat(after: int, queue_length: int, running: list[Running]) -> bytes:
        """Make a heartbeat for a stream that has read the events up to ``after``. It has no number and is not kept."""
        return Heartbeat(n=after, queued=queue_length, running=running).model_dump_json().encode() + b"\n"

    def after(self, n: int) -> tuple[int, bytes]:
        """Return the next events after ``n``, one per line, preceded by the number of the last of them."""
        if n < self.acknowledged:
            raise TrimmedError(
                f"events up to {self.acknowledged} were acknowledged and discarded; ask for later events",
                acknowledged=self.acknowledged,
            )
        if n > self.last:
            raise AheadError(
                f"the last event is {self.last}, so a stream cannot begin after event {n}; ask for events after an "
                "earlier one"
            )
        start = n - self.acknowledged
        batch = self._entries[start : start + BATCH]
        return n + len(batch), b"".join([line for line, _ in batch])

    def acknowledge(self, n: int) -> list[tuple[str, int]]:
        """Discard events up to ``n``. Returns the attempts that these events finished, whose ids can be forgotten."""
        if n > self.last:
            raise AheadError(
                f"the last event is {self.last}, so {n} cannot be acknowledged; acknowledge an issued event"
            )
        count = n - self.acknowledged
        if count <= 0:
            return []
        was_full = not self.has_room
        entries = self._entries[:count]
        del self._entries[:count]
        self.acknowledged = n
        self._bytes -= sum(len(line) for line, _ in entries)
        if was_full and self.has_room:
            self.on_room()
        return [attempt for _, attempt in entries if attempt]

    async def wait_for_event(self, after: int, timeout_s: float) -> bool:
        """Wait until there is an event after ``after``. Returns False if there was none in time."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.last <= after and not self.closed:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            # An event may still have arrived between the timeout and this line.
            pass
        return self.last > after

    def close(self) -> None:
        """End all waits for events, because the service is stopping."""
        self.closed = True
        self._changed.set()

    def _append(self, line: bytes, attempt: tuple[str, int] | None) -> None:
        had_room = self.has_room
        self._entries.append((line, attempt))
        self._bytes += len(line)
        self._changed.set()
        if had_room and not self.has_room:
            self.on_full()
