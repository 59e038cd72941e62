"""What a report is made of: targets, verdicts and latencies as flat rows, and the reference beside them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from coordinator.reference.models import PublishedTarget, Reference
from coordinator.reports.table import Cell, Column, Table
from coordinator.targets.selectors import spelled

Measure = Literal["steady", "cold", "paper"]
MEASURES: dict[Measure, str] = {
    "steady": "of each case the median over its runs of steady_ms: one call after warm-up",
    "cold": "of each case the median over its runs of cold_ms: the first call, which holds compilation",
    "paper": "of each case the mean over its runs of cold_ms: the study's rule, which holds compilation",
}

COUNTED_BY = ("verdict", "verdict_on_device")
COUNTING_RULE = (
    "Counted by verdict, a fallback to the host passes, as in the study; counted by verdict_on_device, it fails with "
    "the cause placement, a case that passed without proof of where is in no denominator, and functions that never "
    "touch a device are left out. A function is a success if none of "
    "its cases failed, a complete failure if all did, partial between. Cases that were skipped (removed, not "
    "applicable) or incomplete (environment, infrastructure) are in no denominator; a function without any other "
    "case is unknown, and in no rate."
)


@dataclass(frozen=True)
class Target:
    id: int
    framework: str
    version: str
    device: str
    device_class: str
    hardware: str
    environment: str
    simulated: bool
    notes: tuple[str, ...]
    suite: str
    revision: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """What must stand beside any figure of it."""
        said = list(self.notes)
        if self.device == "xla" and self.device_class != "tpu":
            where = "the host CPU" if self.device_class == "cpu" else f"a device of class {self.device_class}"
            said.append(f"XLA on {where}, not a TPU")
        if self.simulated:
            said.append("simulated: no figure of it is compared")
        return tuple(dict.fromkeys(said))


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


@dataclass(frozen=True)
class CaseLatency:
    """One case on one target, its runs put together as the measure says."""

    target_id: int
    function: str
    case: str
    host_only: bool
    milliseconds: float


@dataclass(frozen=True)
class Placed:
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
class Charted:
    """A campaign as reports see it, with what it is set beside."""

    name: str
    """In the column of sources: ``campaign 3``."""
    targets: tuple[Target, ...]
    verdicts: tuple[FunctionVerdict, ...]
    latencies: tuple[CaseLatency, ...]
    measure: Measure
    reference: Reference | None
    queries: Queries
    placements: tuple[Placed, ...] = ()
    first_calls: tuple[FirstCall, ...] = ()

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
        """By target: its name; with its hardware and environment, where only these tell two apart."""
        names = Counter(spelled(each) for each in self.targets)
        machines = Counter((spelled(each), each.hardware) for each in self.targets)
        found = {}
        for each in self.targets:
            hardware = f" on {each.hardware}" if names[spelled(each)] > 1 else ""
            environment = f" in {each.environment}" if machines[spelled(each), each.hardware] > 1 else ""
            found[each.id] = f"{spelled(each)}{hardware}{environment}"
        return found

    def published(self) -> tuple[PublishedTarget, ...]:
        """Where the reference has figures from, of the frameworks at hand."""
        if self.reference is None:
            return ()
        return tuple(each for each in self.reference.targets if each.framework in self.frameworks)


IDENTITY = (
    Column("source", "source"),
    Column("target", "target"),
    Column("hardware", "hardware"),
    Column("device_class", "class"),
    Column("counted_by", "counted by"),
)


def identity(charted: Charted, target: Target, counted_by: str) -> tuple[Cell, ...]:
    return (charted.name, charted.labels[target.id], target.hardware, target.device_class, counted_by)


def published_identity(reference: Reference, target: PublishedTarget) -> tuple[Cell, ...]:
    """The study knew one way of counting."""
    return (reference.name, spelled(target), target.hardware, target.device_class, "verdict")


def aligned(rows: Sequence[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """What can be set beside each other stands together: by framework, then by class; the order stays otherwise."""
    return sorted(rows, key=lambda row: (str(row[_TARGET]).partition("@")[0], str(row[_CLASS])))


_TARGET, _CLASS = (
    next(n for n, each in enumerate(IDENTITY) if each.name == name) for name in ("target", "device_class")
)


def tabled(
    charted: Charted,
    id: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[tuple[Cell, ...]],
    *,
    rule: str,
    query: str,
    remade_from: tuple[str, ...],
    notes: Sequence[str] = (),
) -> Table:
    """The table with all that must stand beside figures of these targets and this reference."""
    targets = (f"{charted.labels[each.id]}: {said}" for each in charted.targets for said in each.sentences)
    return Table(
        id=id,
        title=title,
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(dict.fromkeys((*notes, *targets, *_of_the_reference(charted, remade_from)))),
        counting_rule=rule,
        revisions=tuple(
            dict.fromkeys(
                f"suite {each.suite} of {each.framework}, revision {each.revision}" for each in charted.targets
            )
        ),
        query=query,
        remade_from=remade_from,
    )


def _of_the_reference(charted: Charted, figures: tuple[str, ...]) -> tuple[str, ...]:
    if charted.reference is None:
        return ()
    return (
        f"{charted.reference.name} is {charted.reference.citation}: other versions, other hardware, other tests of the "
        "same functions.",
        *_of_no_common_class(charted),
        *charted.reference.sentences(frozenset(figures), frozenset(charted.frameworks)),
    )


def _of_no_common_class(charted: Charted) -> tuple[str, ...]:
    classes = {each.device_class for each in charted.published()}
    if not charted.targets or classes & {each.device_class for each in charted.targets}:
        return ()
    return (f"No target here is of a class that it charted ({', '.join(sorted(classes))}): its figures are of others.",)
