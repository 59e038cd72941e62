"""The data of a report: targets, verdicts and latencies as flat rows, with the reference. It does no I/O."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal

from coordinator.catalogue.models import ChartedSample, Coverage
from coordinator.figures.counting import Counted, CountedFunction
from coordinator.reference.models import Reference, ReferenceTarget
from coordinator.results.conditions import FunctionCondition
from coordinator.results.judges import JudgedCases
from coordinator.results.lowerings import lowering_rate
from coordinator.results.models import is_rated
from coordinator.results.statistics import Rate
from coordinator.targets.models import Target, labels

Measure = Literal["level", "cold", "paper"]
MEASURES: dict[Measure, str] = {
    "level": "the low_ms of each case's best run: an undisturbed call after warm-up",
    "cold": "the median of each case's first_cold_ms over the runs that began their process: a user's first call",
    "paper": "the mean of each case's cold_ms over its runs: the study's rule, which includes compilation",
}


@dataclass(frozen=True)
class FunctionVerdict(CountedFunction):
    """A function on a target, with the values of its cell that reports use."""

    target_id: int
    function: str
    counts: Counted
    fell_back: int
    incomplete: int
    unknown_cause: int
    not_counted_cause: str | None
    host_work: int
    accepted: int
    of_another_device: int
    lowered: int
    not_lowered: int
    lowering: str | None
    missing_lowering: str | None

    @property
    def is_rated(self) -> bool:
        return is_rated(self.anywhere, self.of_another_device)

    @property
    def is_missing_cases(self) -> bool:
        """Whether the function has no verdict because cases ended without a result."""
        return self.anywhere.verdict == "unknown" and self.incomplete > 0


@dataclass(frozen=True)
class FunctionLatencies:
    """The measured cases of a function on one target. The measure says how the runs of each case are combined."""

    target_id: int
    function: str
    host_only: bool
    by_case: Mapping[int, float]
    """Milliseconds by case id, in the order of the cases' names. A case has the same id on all targets and in all
    revisions."""


@dataclass(frozen=True)
class PlacementCount:
    """The number of a target's passed cases that have one placement."""

    target_id: int
    placement: str
    """The placement proven over all runs; ``host_only`` for functions that never use a device."""
    cases: int


@dataclass(frozen=True)
class FirstCallLatency:
    """One function on one target: the time of its first call in a process, and of its first call after other cases."""

    target_id: int
    function: str
    first_cold_ms: float
    """The milliseconds of the first call of a case that was the first in its process."""
    later_cold_ms: float | None
    """The milliseconds of the first call of a case after other cases in its process; None if there is no such run."""
    steady_ms: float


@dataclass(frozen=True)
class FailedCase:
    """A case to run again, because its function failed or fell back on a target."""

    target_id: int
    function: str
    case: str
    run: int
    cause: str
    said: str | None


@dataclass(frozen=True)
class StoredFingerprint:
    """A machine and installation that produced outcomes of a target, with the number of these outcomes."""

    target_id: int
    outcomes: int
    id: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Queries:
    """The SQL that returned the rows. It can be run without changes."""

    verdicts: str
    latencies: str
    placements: str
    first_calls: str
    judges: str = ""


@dataclass(frozen=True)
class ReportData:
    """All data of a campaign that reports use, with the data of the reference to compare with."""

    name: str
    """The name of the campaign in columns of sources: ``campaign 3``."""
    targets: tuple[Target, ...]
    verdicts: tuple[FunctionVerdict, ...]
    latencies: tuple[FunctionLatencies, ...]
    measure: Measure
    reference: Reference | None
    queries: Queries
    placements: tuple[PlacementCount, ...] = ()
    first_calls: tuple[FirstCallLatency, ...] = ()
    cpu_bases: Mapping[int, int] = field(default_factory=dict)
    """For each target, the CPU target with which its latencies are compared."""
    coverages: tuple[Coverage, ...] = ()
    """The coverage of each charted release: the share of its public functions that was charted."""
    sample: ChartedSample | None = None
    """The sample; None if the campaign's functions are not a sample."""
    conditions: Mapping[tuple[int, str], FunctionCondition] = field(default_factory=dict)
    """The conditions by target and function, for those functions that sentences mention."""
    judged: tuple[JudgedCases, ...] = ()
    """The cases that ran, grouped by function and reference."""

    @cached_property
    def frameworks(self) -> tuple[str, ...]:
        """The charted frameworks. Without a campaign, the frameworks of the reference."""
        everywhere: Sequence[Target | ReferenceTarget] = self.targets or (
            self.reference.targets if self.reference else ()
        )
        return tuple(sorted({target.framework for target in everywhere}))

    @cached_property
    def by_target(self) -> dict[int, list[FunctionVerdict]]:
        by_target: dict[int, list[FunctionVerdict]] = {target.id: [] for target in self.targets}
        for verdict in self.verdicts:
            by_target[verdict.target_id].append(verdict)
        return by_target

    @cached_property
    def medians(self) -> dict[int, dict[str, float]]:
        """For each target, the median over the cases of each function."""
        by_target: dict[int, dict[str, float]] = {target.id: {} for target in self.targets}
        for row in self.latencies:
            by_target[row.target_id][row.function] = statistics.median(row.by_case.values())
        return by_target

    @cached_property
    def run_targets(self) -> tuple[Target, ...]:
        """The targets on which cases ran. Other targets have no verdicts, placements or latencies."""
        return tuple(target for target in self.targets if not target.is_lowered)

    @cached_property
    def lowered_targets(self) -> tuple[Target, ...]:
        return tuple(target for target in self.targets if target.is_lowered)

    def lowering_rate(self, target: Target) -> Rate:
        """The share of functions without a missing lowering, for a target that only lowers programs."""
        return lowering_rate(verdict.lowering for verdict in self.by_target[target.id])

    @cached_property
    def labels(self) -> dict[int, str]:
        return labels(self.targets)

    def narrow(self, function: str) -> ReportData:
        """Return the data, limited to the functions that a glob matches."""
        return replace(
            self,
            verdicts=tuple(row for row in self.verdicts if fnmatchcase(row.function, function)),
            latencies=tuple(row for row in self.latencies if fnmatchcase(row.function, function)),
        )

    def published_targets(self) -> tuple[ReferenceTarget, ...]:
        """The reference's targets that have a framework of this campaign."""
        if self.reference is None:
            return ()
        return tuple(target for target in self.reference.targets if target.framework in self.frameworks)
