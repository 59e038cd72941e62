"""Outcomes as REST and pages have them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from coordinator.figures.second_shape import SecondShape
from coordinator.results.condition_rows import TargetCondition
from coordinator.results.outcomes.confirmations import Confirmation
from protocol.outcomes import Evidence

Format = Literal["json", "csv", "parquet"]


class OutcomePage(BaseModel):
    """Rows of the view `outcome_rows`, in the order of job ids, each with the command that repeats it."""

    outcomes: list[dict[str, Any]]
    next: int | None
    """Pass as ``after`` to read on; null at the end."""


class Attempt(BaseModel):
    """One dispatch of a job, and how it ended."""

    attempt: int
    runner: str | None
    leased_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    end: str | None
    reason: str | None
    late: bool
    """A result of it came after the job had gone on without it, or after its first one; neither counts."""


class OtherRun(BaseModel):
    job_id: int
    run: int
    verdict: str
    placement: str
    cause: str | None
    steady_ms: float | None


class OutcomeDetail(BaseModel):
    """Everything of one outcome."""

    row: dict[str, Any]
    """As in `outcome_rows`, with the command that repeats it."""
    target: str
    sentences: list[str]
    """Sentences that must be shown beside any figure of its target."""
    evidence: Evidence | None
    confirmations: list[Confirmation]
    """How else the same call was made, and how that ended; none where it was not repeated."""
    samples_ms: list[float]
    low_interval_ms: tuple[float, float] | None
    """The 95 % interval of the row's `low_ms`; null with too few samples."""
    calls_per_sample: int | None
    log: str
    """All of it that the runner kept."""
    host_only_because: str | None
    timing: str
    timeout_s: float
    fingerprint_id: str | None
    was: dict[str, str | None] | None
    """The verdict, cause and rule before a person overrode them; null if nobody did."""
    attempts: list[Attempt]
    runs: list[OtherRun]


class RunDetail(BaseModel):
    """One run of one case."""

    job_id: int
    run: int
    verdict: str
    ending: str
    cause: str | None
    rule: str | None
    overridden_by: str | None
    placement: str
    unproven: str | None
    """Why the placement is unknown: a word of ``Unproven``."""
    fallbacks: dict[str, Any]
    cold_ms: float | None
    steady_ms: float | None
    iqr_ms: float | None
    samples_ms: list[float]
    duration_s: float
    said: str | None
    """The beginning of its evidence."""
    repeat: str


class CaseDetail(BaseModel):
    case: str
    host_only: str | None
    judged_by: str | None
    """The reference that its expected values are of; null if the suite does not say."""
    input_kinds: str | None
    options: dict[str, Any] | None
    """How it calls the function; null if its runner does not say."""
    recompiled: bool
    """Its first call is in a second shape, after the same call in another shape: `cold_ms` is what a new shape
    costs."""
    cold_ms: float | None
    """As in `case_latencies`: the median over the runs that passed, proven on the device or host_only."""
    first_cold_ms: float | None
    """The median over the runs that began their process."""
    later_cold_ms: float | None
    low_ms: float | None
    """The level of the best run."""
    steady_ms: float | None
    unconfirmed: bool | None
    """No second run confirms the level; None of one run alone."""
    runs: list[RunDetail]


class FunctionOnTarget(BaseModel):
    target_id: int
    target: str
    hardware: str
    environment: str
    suite_revision: str
    simulated: bool
    sentences: list[str]
    condition: TargetCondition | None
    """The condition of the function on this target: n of m cases, who judged them, and on which options; null if no
    case counts."""
    second_shape: SecondShape | None
    """The time of the first call in a second shape, beside the first call in a process; null if not measured."""
    cases: list[CaseDetail]
    fingerprints: dict[str, dict[str, Any]]


class FunctionDetail(BaseModel):
    """All outcomes of one function in one campaign."""

    campaign_id: int
    campaign: str
    state: str
    framework: str
    function: str
    targets: list[FunctionOnTarget]
