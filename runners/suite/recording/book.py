"""The book of a recording: all distinct calls with their counts. The book reports them while the command runs.

A command may crash, hang or be killed at any time. So each new entry is reported at once, and counts are reported every
second. The size of the book depends only on the number of distinct calls, which is limited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from protocol.recording_format import MAX_CALLS, MAX_SITES, MAX_VARIANTS
from runners.suite.recording.sites import Site

TELL_EVERY_S = 1.0
CALL, CROSSING, LEFT_OUT = "call", "crossing", "left_out"
FELL_BACK, RAISED = "fell_back", "raised"
"""The kinds of entries."""
OTHER_WORDS = "other error texts, beyond the limit of distinct texts"
ELSEWHERE: Site = ("", 0)
"""Stands for all sites beyond the limit ``MAX_SITES``."""


class SiteCount:
    """A line of the user's code, and how often it made a call."""

    __slots__ = ("count", "site")

    def __init__(self, site: Site) -> None:
        self.site = site
        self.count = 0


@dataclass
class Entry:
    """A distinct call, a crossing between host and device, a reason for leaving calls out, a fallback or an error. An
    entry has the number of its occurrences at each site."""

    number: int
    kind: str
    seconds: float = 0.0
    site_counts: dict[Site, SiteCount] = field(default_factory=dict)
    is_told: bool = True
    """Whether the current counts have been reported."""
    tallies: Sequence[CallTally] = ()
    """The open tallies of the book."""

    @property
    def sites(self) -> dict[Site, int]:
        """The number of occurrences at each site."""
        # Copied to a list, because another thread of the program may count at the same time.
        return {site_count.site: site_count.count for site_count in list(self.site_counts.values())}

    def site_count(self, site: Site) -> SiteCount:
        """Return the count of a site. All sites beyond the limit share one count."""
        site_counts = self.site_counts
        if site not in site_counts:
            site = site if len(site_counts) < MAX_SITES else ELSEWHERE
            site_counts.setdefault(site, SiteCount(site))
        return site_counts[site]

    def met(self, site: Site, seconds: float = 0.0, count: int = 1) -> None:
        """Add occurrences of the entry at a site."""
        self.met_at(self.site_count(site), seconds, count)

    def met_at(self, site_count: SiteCount, seconds: float, count: int = 1) -> None:
        """Add occurrences of the entry at a site whose count is already known."""
        site_count.count += count
        self.seconds += seconds
        self.is_told = False
        if self.tallies:
            for tally in self.tallies:
                tally.add(self, site_count.site, seconds, count)


class CallTally:
    """The counts in one part of a program, such as a compiled function, so that they can be added again.

    Crossings are left out, because a compiled program keeps its constants on the device. The tally holds only what was
    counted while it was open: a copy of the whole book at every call of a compiled function would take too long.
    """

    def __init__(self) -> None:
        self._parts: dict[int, Entry] = {}
        self._entries: dict[int, Entry] = {}

    def __len__(self) -> int:
        """The number of counted sites over all entries."""
        return sum(len(part.site_counts) for part in self._parts.values())

    def add(self, entry: Entry, site: Site, seconds: float, count: int) -> None:
        if entry.kind == CROSSING:
            return
        if entry.number not in self._parts:
            self._entries[entry.number] = entry
            self._parts[entry.number] = Entry(entry.number, entry.kind)
        self._parts[entry.number].met(site, seconds, count)

    def again(self) -> None:
        """Add all counts of the tally once more."""
        for number, part in self._parts.items():
            seconds = part.seconds
            for site, count in part.sites.items():
                self._entries[number].met(site, seconds, count)
                seconds = 0.0


class Book:
    """All entries of a recording. ``tell`` reports messages to the parent process."""

    def __init__(self, tell: Callable[[dict[str, Any]], None]) -> None:
        self._tell = tell
        self._entries: list[Entry] = []
        self._others: dict[tuple[str, ...], Entry] = {}
        self._variants: Counter[str] = Counter()
        self._calls = 0
        self._tallies: list[CallTally] = []
        self.tell_at = perf_counter() + TELL_EVERY_S
        """The time of the next report of counts."""

    def takes(self, function: str) -> bool:
        """Count one more distinct call of the function, and return whether the book still has room for it."""
        self._variants[function] += 1
        return self._calls < MAX_CALLS and self._variants[function] <= MAX_VARIANTS

    def open(self, function: str, facts: dict[str, Any]) -> Entry:
        """Add an entry for a new distinct call."""
        self._calls += 1
        return self._open_entry(CALL, {"function": function, **facts})

    def add(self, entry: Entry, facts: dict[str, Any]) -> None:
        """Report additional facts about a call that is already in the book."""
        self._tell({"entry": entry.number, "more": facts})

    def first(self, entry: Entry, site: Site, seconds: float) -> None:
        """Count a new entry, and report the count at once."""
        entry.met(site, seconds)
        self._tell_of([entry])

    def cross(self, function: str, direction: str, site: Site) -> None:
        """Count a crossing between host and device."""
        crossing = self._other(CROSSING, {"function": function, "direction": direction})
        crossing.met(site)
        if perf_counter() > self.tell_at:
            self.tell_counts()

    @contextmanager
    def tally(self) -> Iterator[CallTally]:
        """Yield a new tally. Each count in the block goes to this tally, and as always to the book."""
        tally = CallTally()
        self._tallies.append(tally)
        try:
            yield tally
        finally:
            self._tallies.remove(tally)

    def again(self, tally: CallTally) -> None:
        """Add the counts of a tally once more."""
        tally.again()
        if perf_counter() > self.tell_at:
            self.tell_counts()

    def leave_out(self, function: str, reason: str) -> Entry:
        """Return the entry for calls that are not recorded for this reason."""
        return self._other(LEFT_OUT, {"function": function, "reason": reason})

    def fall_back(self, function: str, message: str, site: Site) -> None:
        """Count a call during which an operation ran on the host."""
        self._end_of_call(FELL_BACK, function, message).met(site)

    def raise_in(self, function: str, message: str, site: Site) -> None:
        """Count a call that raised, and report it at once, because it may be the last."""
        self._end_of_call(RAISED, function, message).met(site)
        self.tell_counts()

    def tell_counts(self) -> None:
        """Report the counts that have changed since the last report."""
        self._tell_of([entry for entry in self._entries if not entry.is_told])
        self.tell_at = perf_counter() + TELL_EVERY_S

    def _end_of_call(self, kind: str, function: str, message: str) -> Entry:
        """Return the entry for calls that ended this way. Texts beyond the limit of distinct texts share one entry."""
        if (kind, function, message) not in self._others and not self.takes(function):
            message = OTHER_WORDS
        return self._other(kind, {"function": function, "said": message})

    def _tell_of(self, entries: Sequence[Entry]) -> None:
        self._tell({"counts": [_counts(entry) for entry in entries]})
        for entry in entries:
            entry.is_told = True

    def _other(self, kind: str, facts: dict[str, Any]) -> Entry:
        key = (kind, *facts.values())
        if key not in self._others:
            self._others[key] = self._open_entry(kind, facts)
        return self._others[key]

    def _open_entry(self, kind: str, facts: dict[str, Any]) -> Entry:
        entry = Entry(len(self._entries), kind, tallies=self._tallies)
        self._entries.append(entry)
        self._tell({"entry": entry.number, "kind": kind, "facts": facts})
        return entry


def _counts(entry: Entry) -> list[Any]:
    return [entry.number, entry.seconds, [[file, line, count] for (file, line), count in entry.sites.items()]]
