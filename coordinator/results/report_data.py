"""What a report is made of: targets, verdicts and latencies as flat rows, and the reference beside them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal

from coordinator.reference.models import PublishedTarget, Reference
from coordinator.targets.models import Target, labels

Measure = Literal["steady", "cold", "paper"]
MEASURES: dict[Measure, str] = {
    "steady": "of each case the median over its runs of steady_ms: one call after warm-up",
    "cold": "of each case the median over its runs of cold_ms: the first call, which holds compilation",
    "paper": "of each case the mean over its runs of cold_ms: the study's rule, which holds compilation",
}


@dataclass(frozen=True)
class FunctionVerdict:
    """A row of ``function_verdicts``."""

    target_id: int
    function: str
    verdict: str
    verdict_on_device: str | None
    """None of a function that never touches a device."""
    cause: str | None
    cause_on_device: str | None
    fell_back: int
    """Cases that passed by falling back to the host."""
    unknown_placement: int | None
    """Cases that passed without proof of where: in no count on the device."""
    failed: int
    unknown_cause: int
    """Failed cases whose cause no rule knows."""
    not_counted_cause: str | None


@dataclass(frozen=True)
class CaseLatency:
    """One case on one target, its runs put together as the measure says."""

    target_id: int
    function: str
    case: str
    host_only: bool
    milliseconds: float


@dataclass(frozen=True)
class PlacementCount:
    """How many of a target's cases that passed really ran where."""

    target_id: int
    placement: str
    """``host_only`` of functions that never touch a device; else as proven over all runs."""
    cases: int


@dataclass(frozen=True)
class FirstCall:
    """One function on one target: its first call, and a call after warm-up."""

    target_id: int
    function: str
    cold_ms: float
    steady_ms: float


@dataclass(frozen=True)
class Failure:
    """A case to run again: of a function that failed, or fell back, on a target."""

    target_id: int
    function: str
    case: str
    run: int
    cause: str
    said: str | None


@dataclass(frozen=True)
class Fingerprint:
    """A machine and installation that produced outcomes of a target, and how many."""

    target_id: int
    outcomes: int
    id: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Queries:
    """Where the rows came from: SQL that runs as it stands."""

    verdicts: str
    latencies: str
    placements: str
    first_calls: str


@dataclass(frozen=True)
class ReportData:
    """A campaign as reports see it, with what it is set beside."""

    name: str
    """In the column of sources: ``campaign 3``."""
    targets: tuple[Target, ...]
    verdicts: tuple[FunctionVerdict, ...]
    latencies: tuple[CaseLatency, ...]
    measure: Measure
    reference: Reference | None
    queries: Queries
    placements: tuple[PlacementCount, ...] = ()
    first_calls: tuple[FirstCall, ...] = ()
    cpu_bases: Mapping[int, int] = field(default_factory=dict)
    """By target: the CPU target that its latencies are set against."""

    @cached_property
    def frameworks(self) -> tuple[str, ...]:
        """Those charted; without a campaign, those of the reference."""
        everywhere: Sequence[Target | PublishedTarget] = self.targets or (
            self.reference.targets if self.reference else ()
        )
        return tuple(sorted({each.framework for each in everywhere}))

    @cached_property
    def by_target(self) -> dict[int, list[FunctionVerdict]]:
        found: dict[int, list[FunctionVerdict]] = {each.id: [] for each in self.targets}
        for each in self.verdicts:
            found[each.target_id].append(each)
        return found

    @cached_property
    def labels(self) -> dict[int, str]:
        return labels(self.targets)

    def narrowed(self, function: str) -> ReportData:
        """The same of the functions that a glob matches."""
        return replace(
            self,
            verdicts=tuple(row for row in self.verdicts if fnmatchcase(row.function, function)),
            latencies=tuple(row for row in self.latencies if fnmatchcase(row.function, function)),
        )

    def published(self) -> tuple[PublishedTarget, ...]:
        """Where the reference has figures from, of the frameworks at hand."""
        if self.reference is None:
            return ()
        return tuple(each for each in self.reference.targets if each.framework in self.frameworks)
