"""Decodes a runner's stream: events in order, and lines that cannot be read. No I/O.

An event that cannot be read fails only the job that the event is about, never the stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from coordinator.dispatch.leases import Key
from coordinator.errors import GapError
from coordinator.text.plain_text import plain_text
from protocol.events import EVENT, Finished, Heartbeat, Started
from protocol.model import first_fault


@dataclass(frozen=True)
class UnreadableEvent:
    """A line that is not a valid event, with the members that could still be read."""

    reason: str
    n: int | None = None
    key: Key | None = None
    is_heartbeat: bool = False


StreamEvent = Started | Finished | Heartbeat | UnreadableEvent


def read_event(line: bytes) -> StreamEvent:
    try:
        return EVENT.validate_json(line)
    except ValidationError as error:
        # Member names are untrusted text, and the reason is displayed and stored.
        return _unreadable(line, plain_text(first_fault(error))[:500])


def _unreadable(line: bytes, reason: str) -> UnreadableEvent:
    try:
        members: Any = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return UnreadableEvent(reason)
    if not isinstance(members, dict):
        return UnreadableEvent(reason)
    id, attempt = members.get("id"), _number(members.get("attempt"))
    key = Key.of_wire(id, attempt) if isinstance(id, str) and attempt is not None else None
    return UnreadableEvent(
        reason,
        n=_number(members.get("n")),
        key=key if key and key.job else None,
        is_heartbeat=members.get("type") == "heartbeat",
    )


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63 else None


class EventNumbers:
    """Checks the numbers of a stream's events. If an event is missing, the stream is requested once more. If it is
    missing again, it is skipped."""

    def __init__(self, after: int) -> None:
        self.last = after
        self._unnumbered = 0
        """The number of lines without a readable number since the last numbered line. Each of them may have had the
        next number."""
        self._asked_again = -1
        """The number after which missing events have already been requested again."""

    def restart(self, after: int) -> None:
        """Prepare to read the stream again, beginning with the event after this number."""
        self.last, self._unnumbered = after, 0

    def admit(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """Yield these events without repeated ones. Raises ``GapError`` when an event is missing for the first time."""
        for event in events:
            if isinstance(event, Heartbeat) or (isinstance(event, UnreadableEvent) and event.is_heartbeat):
                yield event
                continue
            if event.n is None or (isinstance(event, UnreadableEvent) and event.n != self.last + 1):
                # The number of a line that cannot be read is used only if it is the expected number.
                self._unnumbered += 1
                yield replace(event, n=None) if isinstance(event, UnreadableEvent) else event
                continue
            if event.n <= self.last:
                yield UnreadableEvent(f"number {event.n} came again after {self.last}")
                continue
            missing = event.n - self.last - 1 - self._unnumbered
            if missing > 0:
                if self.last > self._asked_again:
                    self._asked_again = self.last
                    raise GapError(f"numbered an event {event.n} after {self.last}")
                yield UnreadableEvent(f"{missing} events between {self.last} and {event.n} never came")
            self.last, self._unnumbered = event.n, 0
            yield event
