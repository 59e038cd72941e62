"""The record of one boot's events on all streams of a check, and the first contradiction of events. No I/O."""

from __future__ import annotations

from coordinator.conformance.cases import Key, job_name
from coordinator.conformance.event_stream import ReceivedEvent
from protocol.enums import Ending

UNSTARTED = {Ending.cancelled, Ending.harness_failed}
"""The possible endings of an attempt that never started."""


class EventHistory:
    """All events of all streams, sorted by number.

    When a finished event is acknowledged, its job is removed from the record, because the runner forgets the job too.
    The attempt may then be posted again and run again.
    """

    def __init__(self) -> None:
        self.contradiction: str | None = None
        self.outcomes: list[ReceivedEvent] = []
        """All finished events, without repetitions."""
        self.keys: set[Key] = set()
        """All attempts for which the runner sent an event."""
        self._texts: dict[int, str] = {}
        self._started: dict[Key, int] = {}
        self._finished: dict[Key, int] = {}

    def note(self, event: ReceivedEvent, position: int) -> None:
        """Add an event from a stream that had reached the number ``position``."""
        contradiction = self._add(event, position)
        self.contradiction = self.contradiction or contradiction

    def acknowledge(self, n: int) -> None:
        for key in [key for key, number in self._finished.items() if number <= n]:
            del self._finished[key]
            self._started.pop(key, None)
        self._texts = {number: text for number, text in self._texts.items() if number > n}

    def _add(self, event: ReceivedEvent, position: int) -> str | None:
        n = event.n
        if event.type == "heartbeat":
            return None if n == position else f"a heartbeat after number {position} has n {n}, not {position}"
        is_next = n == position + 1
        gap = None if is_next else f"the event after number {position} of a stream has number {n}, not {position + 1}"
        earlier_text = self._texts.get(n)
        if earlier_text is not None:
            return gap or (
                None if earlier_text == event.text else f"event {n} was first {earlier_text}, and later {event.text}"
            )
        self._texts[n] = event.text
        self.keys.add(event.key)
        return self._continue_attempt(event) or gap

    def _continue_attempt(self, event: ReceivedEvent) -> str | None:
        """Add the event to its attempt. If the event contradicts the attempt's earlier events, return the reason;
        otherwise return None."""
        key, n = event.key, event.n
        if key in self._finished:
            return f"{job_name(key)} finished with event {self._finished[key]}, but event {n} ({event.type}) follows"
        if event.type == "started":
            if key in self._started:
                return f"{job_name(key)} has two started events, {self._started[key]} and {n}"
            self._started[key] = n
        elif event.type == "finished":
            self._finished[key] = n
            self.outcomes.append(event)
            if key not in self._started and event.ending[1] not in UNSTARTED:
                return f"{job_name(key)} finished with event {n} and ending {event.ending[1]}, but has no started event"
        return None
