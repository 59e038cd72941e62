"""A recorded run in a report: its calls, its crossings between host and device, its times, and the limits of the
replay. This module does no I/O."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from coordinator.assess.evidence import TargetEvidence
from coordinator.figures.formats import plural
from protocol.recording import Direction, RecordedSite, Recording

CANNOT_KNOW = (
    "which arrays stay on the host: all arguments of a call are assumed to be on the device",
    "errors that add up along a chain of calls: each call is judged by itself",
    "the memory that the whole program needs, and the time to compile it as a whole",
)
"""The limits of replaying single calls, for every program."""
OTHER_WAYS = "branches that the code takes only on another device: it was recorded on the CPU"
FURTHER_WAYS = "branches that depend on the device but not on an array: only arrays claimed to be on the target"
"""The limit about branches, if the recorder made arrays report the target as their device. For other recordings,
``OTHER_WAYS`` is the limit."""
WAYS: Mapping[Direction, str] = {"to_host": "to the host", "to_device": "to the device"}
LEAST_SHARE = 0.01
"""The minimum share of the time that a listed line has."""


@dataclass(frozen=True)
class CrossingLine:
    """A line of code that moves values between host and device."""

    place: str
    function: str
    direction: Direction
    count: int

    @property
    def words(self) -> str:
        return WAYS[self.direction]


@dataclass(frozen=True)
class TimeLine:
    """A line of code, with its shares of the time of all calls: on the CPU during the recording, and on the target
    during the replay."""

    place: str
    on_host: float
    on_target: float


@dataclass(frozen=True)
class RecordedRun:
    """A recording with the results of its calls."""

    recording: Recording
    replays: TargetEvidence | None
    """The outcomes of the replayed calls; None if the calls were not replayed, and other evidence is used instead."""
    why_not: str | None = None
    """The reason why the calls were not replayed."""
    without_outcome: int = 0
    """The number of calls whose replay has no counted outcome."""

    @property
    def command(self) -> str:
        return shlex.join(self.recording.command)

    @property
    def called_line(self) -> str:
        """The calls in words: ``31 distinct calls of torch 2.9.0, made 1,204 times in 3.1 s``."""
        recording = self.recording
        call_count = sum(call.count for call in recording.calls)
        backward = sum(call.gradient is not None for call in recording.calls)
        return (
            f"{plural(len(recording.calls), 'distinct call')} of {recording.framework} {recording.version}, "
            f"made {plural(call_count, 'time')} in {recording.seconds:.1f} s, backward through {backward:,}"
            f"{self.early_end}"
        )

    @property
    def early_end(self) -> str:
        """A clause at the end of a sentence, which says that the command failed or was killed; empty otherwise."""
        code = self.recording.exit_code
        if code is None:
            return "; the command was killed before its end"
        if code == 0:
            return ""
        return f"; the command ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}"

    @cached_property
    def crossings(self) -> tuple[CrossingLine, ...]:
        """The lines that move values between host and device, the line with the most crossings first."""
        lines = [
            CrossingLine(place_of(site), crossing.function, crossing.direction, site.count)
            for crossing in self.recording.crossings
            for site in crossing.sites
        ]
        return tuple(sorted(lines, key=lambda line: (-line.count, line.place, line.function)))

    @property
    def crossed(self) -> Mapping[Direction, int]:
        """The number of crossings by direction."""
        counts: Counter[Direction] = Counter()
        for line in self.crossings:
            counts[line.direction] += line.count
        return counts

    @cached_property
    def times(self) -> tuple[TimeLine, ...]:
        """The lines sorted by their time on the target, the longest first. Empty unless all calls were timed on both
        devices."""
        if self.replays is None:
            return ()
        ratios = {case.case: case.ratio for cases in self.replays.functions.values() for case in cases}
        host: dict[str, float] = defaultdict(float)
        target: dict[str, float] = defaultdict(float)
        for call in self.recording.calls:
            ratio = ratios.get(call.case)
            for site in call.sites:
                if ratio is not None and call.count:
                    seconds = call.seconds * site.count / call.count
                    host[place_of(site)] += seconds
                    target[place_of(site)] += seconds * ratio
        on_host, on_target = sum(host.values()), sum(target.values())
        if not on_host or not on_target:
            return ()
        lines = [TimeLine(place, host[place] / on_host, target[place] / on_target) for place in host]
        long_lines = [line for line in lines if max(line.on_host, line.on_target) >= LEAST_SHARE]
        return tuple(sorted(long_lines, key=lambda line: (-line.on_target, line.place)))

    @property
    def unknowable(self) -> tuple[str, ...]:
        """The questions that the report cannot answer, one clause each."""
        recording = self.recording
        left_out = sum(site.count for entry in recording.left_out for site in entry.sites)
        clauses = [*CANNOT_KNOW, FURTHER_WAYS if recording.target else OTHER_WAYS]
        if self.replays is None:
            clauses.append(f"the results of these calls, which were not replayed: {self.why_not}")
        elif self.without_outcome:
            clauses.append(f"{plural(self.without_outcome, 'call')} whose replay has no counted outcome")
        if left_out:
            reasons = Counter[str]()
            for entry in recording.left_out:
                reasons[entry.reason] += sum(site.count for site in entry.sites)
            counts = "; ".join(f"{count:,}: {reason}" for reason, count in reasons.most_common(4))
            clauses.append(f"{plural(left_out, 'call')} that a recording cannot contain ({counts})")
        return (*clauses, *(f"{note[:1].lower()}{note[1:].rstrip('.')}" for note in recording.notes))


def place_of(site: RecordedSite) -> str:
    return f"{site.file}:{site.line}" if site.file else "no line of the code"
