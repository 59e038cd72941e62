"""The record of one boot's events over all streams of a check, and the first contradiction in it. Pure."""

from __future__ import annotations

from coordinator.conformance.stream import Key, Seen, named
from protocol.enums import Ending

UNSTARTED = {Ending.cancelled, Ending.harness_failed}
"""What an attempt may end as that never began."""


class History:
    """Everything that the streams carried, in the order of its numbers.

    An acknowledged finish takes its job out of the record, as the runner forgets it too: the
    same attempt may then be posted, and run, once more.
    """

    def __init__(self) -> None:
        self.contradiction: str | None = None
        self.outcomes: list[Seen] = []
        """Every finished event, once."""
        self.keys: set[Key] = set()
        """Every attempt that had an event."""
        self._texts: dict[int, str] = {}
        self._started: dict[Key, int] = {}
        self._finished: dict[Key, int] = {}

    def note(self, seen: Seen, position: int) -> None:
        """Add what came on a stream that had come to the number ``position``."""
        found = self._found(seen, position)
        self.contradiction = self.contradiction or found

    def acknowledge(self, n: int) -> None:
        for key in [key for key, number in self._finished.items() if number <= n]:
            del self._finished[key]
            self._started.pop(key, None)
        for number in [number for number in self._texts if number <= n]:
            del self._texts[number]

    def _found(self, seen: Seen, position: int) -> str | None:
        if seen.type == "heartbeat":
            return None if seen.n == position else f"after number {position} came a heartbeat with n {seen.n}"
        gap = None if seen.n == position + 1 else f"after number {position} of a stream came number {seen.n}"
        known = self._texts.get(seen.n)
        if known is not None:
            return gap or (None if known == seen.text else f"number {seen.n} was {known}, and is {seen.text}")
        self._texts[seen.n] = seen.text
        self.keys.add(seen.key)
        return self._told(seen) or gap

    def _told(self, seen: Seen) -> str | None:
        """Whether the story of the attempt goes on as it may."""
        key = seen.key
        if key in self._finished:
            return f"{named(key)} finished with number {self._finished[key]}, and number {seen.n} is its {seen.type}"
        if seen.type == "started":
            if key in self._started:
                return f"{named(key)} started with number {self._started[key]}, and again with {seen.n}"
            self._started[key] = seen.n
        elif seen.type == "finished":
            self._finished[key] = seen.n
            self.outcomes.append(seen)
            if key not in self._started and seen.ending[1] not in UNSTARTED:
                return f"{named(key)} finished as {seen.ending[1]} with number {seen.n}, and never started"
        return None
