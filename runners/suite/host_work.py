"""Work of the host behind the device's back: the events of a call, and the one rule by which they are a fallback.

The watches of the frameworks report events, in order, in these words; whether they are a fallback is decided here and
nowhere else. ``docs/explanation/host-work.md`` states the rule for readers and says what it cannot see.

- What ran **elsewhere** than on the device is a fallback.
- An **array** whose numbers the host read is one, if the device was given work or values after it.
- A **single number** is a decision, whatever Python does with it: no watch can tell a loss that is looked at from a
  factor that is multiplied by. Many of them are an array: those picked one by one out of one array, and those that
  come back to the device as an array of as many numbers, or of at least half as many.
- Numbers that the **result** of the call holds on the host were read for its caller, and are none.
- Whole numbers that the **framework's own code** reads are shapes, axes and places, and are none. Nor are whole numbers
  that come back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Union

from runners.suite.picks import Pick, Source

MANY_NUMBERS = 8
"""Numbers of one array that are never read one by one merely to decide something."""


@dataclass(frozen=True)
class Elsewhere:
    """An operation, or a whole program, that ran on the host or on another device than the target's."""

    operation: str
    count: int = 1


@dataclass(frozen=True)
class Read:
    """Numbers of an array on the device that the host read in one step."""

    member: str
    """The method or operation by which they were read, as the framework spells it."""
    numbers: int
    dtype: str = ""
    by_framework: bool = False
    """Whether the framework's own code wanted them, and not the function that is watched."""
    picks: frozenset[Pick] = frozenset()
    """Of a single number: those that were picked out of arrays and made it; itself, if it was picked."""

    @property
    def is_layout(self) -> bool:
        return self.by_framework and _is_whole(self.dtype)


@dataclass(frozen=True)
class Brought:
    """Numbers that were on the host and became an array on the device."""

    numbers: int
    dtype: str = ""


@dataclass(frozen=True)
class Worked:
    """The device was given something to compute. Picking numbers out of an array, or a view of it, is no work."""


Event = Union[Elsewhere, Read, Brought, Worked]
WORKED = Worked()


class CallRecord:
    """The events of one call, reported from whichever thread they came up in."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, event: Event) -> None:
        # A call may compute a million times between two reads, and the first says all.
        if event is not WORKED or not self.events or self.events[-1] is not WORKED:
            self.events.append(event)


def fallbacks(events: Iterable[Event], *, returned: int, goes_on: bool = False) -> dict[str, int]:
    """The fallbacks that a call's events are, by name, each with its count: of operations, or of numbers.

    ``returned`` numbers on the host are in the result of the call. With ``goes_on`` the device works on after the last
    event: of a constructor, whose object is called later.
    """
    ledger = _Ledger()
    for event in (*events, WORKED) if goes_on else events:
        ledger.enter(event)
    return ledger.fallbacks(returned)


class _Ledger:
    """The numbers of a call that are on the host, and what has become of them so far."""

    def __init__(self) -> None:
        self._elsewhere: Counter[str] = Counter()
        self._on_host: list[Read] = []
        """Read, and the device has not gone on since."""
        self._carried: list[Read] = []
        """Read, and the device went on after it."""
        self._singles = 0
        self._came_back = 0
        """Numbers of arrays that were made of no more numbers than had been read one by one."""

    def enter(self, event: Event) -> None:
        if isinstance(event, Elsewhere):
            self._elsewhere[event.operation] += event.count
        elif isinstance(event, Read):
            self._read(event)
        elif isinstance(event, Brought):
            self._bring(event)
        else:
            self._go_on()

    def _read(self, read: Read) -> None:
        if read.is_layout or read.numbers == 0:
            return
        self._singles += read.numbers == 1
        self._on_host.append(read)

    def _bring(self, event: Brought) -> None:
        is_made_of_them = event.numbers > 1 and self._singles / 2 <= event.numbers <= self._singles
        if is_made_of_them and not _is_whole(event.dtype):
            self._came_back += event.numbers
        self._go_on()

    def _go_on(self) -> None:
        self._carried += self._on_host
        self._on_host.clear()

    def fallbacks(self, returned: int) -> dict[str, int]:
        arrays, picked_count = self._arrays(), self._count_picked()
        counts = dict(self._elsewhere)
        if sum(arrays.values()) + picked_count > returned:
            counts.update({f"host read by {member}": numbers for member, numbers in arrays.items()})
            if picked_count:
                counts["host read of an array by its numbers"] = picked_count
        if self._came_back:
            counts["host read of numbers that came back"] = self._came_back
        return counts

    def _arrays(self) -> Counter[str]:
        numbers: Counter[str] = Counter()
        for read in self._carried:
            if read.numbers > 1:
                numbers[read.member] += read.numbers
        return numbers

    def _count_picked(self) -> int:
        """The numbers read one by one of arrays of which most, or many, were read.

        Reads of what the same numbers of an array made tell the same of it, and are one.
        """
        read: dict[Source, set[frozenset[Pick]]] = defaultdict(set)
        for picks in (one.picks for one in self._carried if one.numbers == 1):
            for source in {source for pick in picks for source in pick.sources()}:
                read[source].add(frozenset(pick for pick in picks if source in pick.sources()))
        many = [
            numbers
            for source, numbers in read.items()
            if len(numbers) >= max(2, min(MANY_NUMBERS, source.numbers // 2))
        ]
        return len(frozenset[frozenset[Pick]]().union(*many))


def _is_whole(dtype: str) -> bool:
    return dtype.startswith(("int", "uint"))
