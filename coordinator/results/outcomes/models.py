"""The models of outcomes for REST and pages."""

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
    """A page of rows of the view `outcome_rows`, sorted by job id. Each row has a command that repeats the case."""

    outcomes: list[dict[str, Any]]
    next: int | None
    """Pass this as ``after`` to get the next page; null on the last page."""


class Attempt(BaseModel):
    """One dispatch of a job, and its result."""

    attempt: int
    runner: str | None
    leased_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    end: str | None
    reason: str | None
    late: bool
    """Whether a result arrived that does not count, because the job had been lost, cancelled or dispatched again, or
    already had a result."""


class OtherRun(BaseModel):
    job_id: int
    run: int
    verdict: str
    placement: str
    cause: str | None
    steady_ms: float | None


class OutcomeDetail(BaseModel):
    """All stored details of one outcome."""

    row: dict[str, Any]
    """The row of `outcome_rows`, with a command that repeats the case."""
    target: str
    sentences: list[str]
    """Sentences that must be shown next to any result of the outcome's target."""
    evidence: Evidence | None
    confirmations: list[Confirmation]
    """Repetitions of the same call in other ways, with their results; empty if the call was not repeated."""
    samples_ms: list[float]
    low_interval_ms: tuple[float, float] | None
    """The 95 % interval of the row's `low_ms`; null if there are too few samples."""
    calls_per_sample: int | None
    log: str
    """All of the output that the runner kept."""
    host_only_because: str | None
    timing: str
    timeout_s: float
    fingerprint_id: str | None
    was: dict[str, str | None] | None
    """The verdict, cause and rule before a person set the cause; null if no person set it."""
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
    """The reason why the placement is unknown, a word of ``Unproven``."""
    fallbacks: dict[str, Any]
    cold_ms: float | None
    steady_ms: float | None
    iqr_ms: float | None
    samples_ms: list[float]
    duration_s: float
    said: str | None
    """The beginning of the run's evidence."""
    repeat: str


class CaseDetail(BaseModel):
    case: str
    host_only: str | None
    judged_by: str | None
    """The reference from which the expected values were computed; null if the suite does not name one."""
    input_kinds: str | None
    options: dict[str, Any] | None
    """The options with which the case calls the function; null if its runner does not report them."""
    recompiled: bool
    """Whether the first call has a second shape, because the case made the same call with another shape before.
    `cold_ms` is then the cost of a new shape.
    """
    cold_ms: float | None
    """The same as in `case_latencies`: the median over the runs that passed and are host_only or proven to have run on
    the device."""
    first_cold_ms: float | None
    """The median over the runs in which the case was the first in its process."""
    later_cold_ms: float | None
    low_ms: float | None
    """The level of the best run."""
    steady_ms: float | None
    unconfirmed: bool | None
    """Whether no second run confirms the level; None if there is only one run."""
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
    """The condition of the function on this target: how many cases fail, with which options, and which reference judged
    the cases. Null if no case counts."""
    second_shape: SecondShape | None
    """The time of the first call with a second shape, next to the first call in a process; null if it was not
    measured."""
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
