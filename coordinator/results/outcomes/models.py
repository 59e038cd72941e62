"""What outcomes and the matrix look like over REST."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from protocol.outcomes import Evidence

Format = Literal["json", "csv", "parquet"]


class OutcomePage(BaseModel):
    """Rows of the view `outcome_rows`, in the order of job ids, each with the command that repeats it."""

    outcomes: list[dict[str, Any]]
    next: int | None
    """Pass as ``after`` to read on; null at the end."""


class Cell(BaseModel):
    """One function on one target. Verdicts are words of the study; counts are of cases."""

    verdict: Literal["success", "partial", "complete", "unknown"]
    verdict_on_device: Literal["success", "partial", "complete", "unknown"] | None
    passed: int
    failed: int
    total: int
    skipped: int
    incomplete: int
    flaky: int
    fell_back: int
    passed_on_device: int | None
    total_on_device: int | None
    unknown_placement: int | None
    """Cases that passed without proof of where: in no count on the device."""
    cause: str | None
    cause_on_device: str | None
    not_counted_cause: str | None
    unknown_cause: int = 0
    """Of the failed cases, those that no rule knows."""
    cold_ms: float | None = None
    steady_ms: float | None = None
    iqr_ms: float | None = None
    samples: int = 0
    ratio_to_cpu: float | None = None
    """Geometric mean over common cases of steady time here to that on the CPU of the same version."""
    ratio_cases: int = 0


class MatrixTarget(BaseModel):
    id: int
    target: str
    hardware: str
    environment: str
    revision: str
    simulated: bool
    notes: list[str]


class MatrixRow(BaseModel):
    function: str
    host_only: bool
    cells: dict[int, Cell]
    """By target id; a target without any outcome of the function yet is absent."""


class Matrix(BaseModel):
    campaign_id: int
    suite: str
    targets: list[MatrixTarget]
    functions: list[MatrixRow]


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
    """What must stand beside any figure of its target."""
    evidence: Evidence | None
    samples_ms: list[float]
    calls_per_sample: int | None
    log: str
    """All of it that the runner kept."""
    host_only_because: str | None
    timing: str
    timeout_s: float
    fingerprint_id: str | None
    was: dict[str, str | None] | None
    """What the rules had said, if a person said otherwise."""
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
    runs: list[RunDetail]


class FunctionOnTarget(BaseModel):
    target_id: int
    target: str
    hardware: str
    environment: str
    suite_revision: str
    simulated: bool
    sentences: list[str]
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
