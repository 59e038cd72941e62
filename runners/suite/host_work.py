"""Decides whether a call fell back to the host, from the events that occurred during the call.

The watches of the frameworks report the events in order. Only the rule in this module decides which of them are
fallbacks. ``docs/explanation/host-work.md`` explains the rule and what it cannot detect.

- An operation that ran **elsewhere** than on the device is a fallback.
- Reading an **array** on the host is a fallback if the device gets work or values afterwards.
- Reading a **single number** is not a fallback: the program may only decide something with it. A watch cannot tell a
  loss that the program inspects from a factor that it multiplies by. Many single numbers count as an array if they
  are picked one by one from one array. N numbers also count as an array if an array of at least N/2 of them returns to
  the device.
- Reading numbers that the **result** of the call holds on the host is not a fallback: the caller asked for them.
- Reading whole numbers in the **framework's own code** is not a fallback: they are shapes, axes and indices. Whole
  numbers that return to the device are no fallback either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Union

from runners.suite.picks import Pick, Source

MANY_NUMBERS = 8
"""If the host reads this many numbers of one array one by one, they count as an array, not as decisions."""


@dataclass(frozen=True)
class Elsewhere:
    """An operation or a whole program ran on the host, or on another device than the target's."""

    operation: str
    count: int = 1


@dataclass(frozen=True)
class Read:
    """The host read numbers of an array on the device in one step."""

    member: str
    """The framework's name for the method or operation that read them."""
    numbers: int
    dtype: str = ""
    by_framework: bool = False
    """Whether the framework's own code read them, and not the function that is watched."""
    picks: frozenset[Pick] = frozenset()
    """For a single number: the numbers picked from arrays from which it was computed (itself, if it was picked)."""

    @property
    def is_layout(self) -> bool:
        return self.by_framework and _is_whole(self.dtype)


@dataclass(frozen=True)
class Brought:
    """Numbers on the host became an array on the device."""

    numbers: int
    dtype: str = ""


@dataclass(frozen=True)
class Worked:
    """The device got something to compute. Picking numbers from an array, or taking a view of it, does not count."""


Event = Union[Elsewhere, Read, Brought, Worked]
WORKED = Worked()


class CallRecord:
    """The events of one call, from all threads."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, event: Event) -> None:
        # A call may compute a million times between two reads. One event is enough for the rule.
        if event is not WORKED or not self.events or self.events[-1] is not WORKED:
            self.events.append(event)


def fallbacks(events: Iterable[Event], *, returned: int, goes_on: bool = False) -> dict[str, int]:
    """Return the fallbacks of a call: their names, each with a count of operations or of numbers.

    ``returned`` is how many numbers on the host the result of the call holds. ``goes_on`` says that the device works on
    after the last event. This is true for a constructor, because its object is called later.
    """
    ledger = _Ledger()
    for event in (*events, WORKED) if goes_on else events:
        ledger.enter(event)
    return ledger.fallbacks(returned)


class _Ledger:
    """Tracks the numbers that the host read during a call."""

    def __init__(self) -> None:
        self._elsewhere: Counter[str] = Counter()
        self._on_host: list[Read] = []
        """Reads after which the device has not worked yet."""
        self._carried: list[Read] = []
        """Reads after which the device has worked again."""
        self._singles = 0
        self._came_back = 0
        """How many numbers, read one by one before, returned to the device in arrays."""

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
        """Count the numbers that were read one by one from arrays.

        An array counts only if at least half of its numbers, or ``MANY_NUMBERS`` of them, were read. Several reads of
        values that were computed from the same numbers of an array count once.
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
