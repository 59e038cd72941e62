"""The models of campaigns over REST."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from coordinator.catalogue.models import Sample
from coordinator.parameters import LARGEST_INTEGER, Text
from protocol.enums import DEFAULT_SUITE, TimedCases, TimingPolicy, default_timed_cases, default_timing
from protocol.jobs import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S

Word = Annotated[Text, Field(min_length=1, max_length=200)]


class Rerun(BaseModel):
    """Plan only what an earlier campaign left failed, or incomplete."""

    model_config = ConfigDict(extra="forbid")

    campaign: int = Field(ge=1, le=LARGEST_INTEGER)
    which: Literal["failed", "incomplete"]


class CampaignRequest(BaseModel):
    """Everything is fixed at submission; ``dry_run`` plans and stores nothing."""

    model_config = ConfigDict(extra="forbid")

    name: Text | None = Field(default=None, max_length=200)
    suite: Text = Field(default=DEFAULT_SUITE, max_length=200)
    targets: list[Word] = Field(default=["*/*"], min_length=1, max_length=100)
    functions: list[Word] = Field(default=["*"], min_length=1, max_length=1000)
    runs: int = Field(default=3, ge=1, le=100)
    timeout_s: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=MAX_TIMEOUT_S, allow_inf_nan=False)
    timing: TimingPolicy = TimingPolicy.steady
    """Unless given, as its suite usually is: off for a suite of a whole library."""
    timed_cases: TimedCases = TimedCases.all
    """Of each function all, or one, and the others run for their verdict. Unless given, one of a whole library's."""
    verdicts_first: bool = False
    """Run 1 is not timed, so it waits for no lock: what ports is known on all targets before anything is timed."""
    rerun: Rerun | None = None
    sample: Sample | None = None
    """The functions are those of this sample that the suite has cases of, on targets of its framework."""
    dry_run: bool = False

    @model_validator(mode="before")
    @classmethod
    def _time_as_usual(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        suite = str(given.get("suite", DEFAULT_SUITE))
        return {"timing": default_timing(suite), "timed_cases": default_timed_cases(suite), **given}

    @model_validator(mode="after")
    def _require_the_samples_own_functions(self) -> Self:
        if self.sample is not None and self.functions != ["*"]:
            raise ValueError("a sample names the functions: leave 'functions' out, or the sample")
        if self.sample is not None and self.rerun is not None:
            raise ValueError("what a campaign left is no sample: leave 'rerun' out, or the sample")
        return self

    @model_validator(mode="after")
    def _require_timed_runs(self) -> Self:
        if self.verdicts_first and (self.runs < 2 or self.timing is TimingPolicy.off):
            raise ValueError(
                "verdicts_first leaves run 1 untimed and times the others: ask for 2 runs or more, with a timing"
            )
        return self


class Cancellation(BaseModel):
    """The part of a campaign that is to be cancelled: its jobs on these targets; without any, all of it."""

    model_config = ConfigDict(extra="forbid")

    targets: list[Word] = Field(default=[], max_length=100)


class Counters(BaseModel):
    total: int
    done: int
    passed: int
    failed: int
    skipped: int
    incomplete: int
    cancelled: int


class TimeEstimate(BaseModel):
    """Time left, in seconds; null where nothing is known to tell it from."""

    seconds: float | None
    measured_jobs: int
    """The number of finished jobs that the estimate rests on."""


class CampaignTarget(BaseModel):
    id: int
    target: str
    framework: str
    version: str
    device: str
    hardware: str
    environment: str
    simulated: bool
    notes: tuple[str, ...]
    suite_revision: str
    live_runners: int
    held_up_by: list[str]
    """A sentence for each runner of the target that could serve it and does not, with the reason."""
    verdicts_complete: bool | None
    """Whether no job of the untimed run 1 is left; null if the campaign has none."""
    counters: Counters
    estimate: TimeEstimate


class Campaign(BaseModel):
    id: int
    name: str
    suite: str
    state: Literal["running", "done", "cancelled"]
    targets: list[str]
    functions: list[str]
    runs: int
    timeout_s: float
    timing: TimingPolicy
    timed_cases: TimedCases
    verdicts_first: bool
    rerun_of: int | None
    sample: str | None = None
    """The name of the sample that its functions are; null if they were chosen otherwise."""
    created_at: datetime
    finished_at: datetime | None
    imported_at: datetime | None
    """When it came in a bundle; all its other times are by the clock of the machine that ran it."""
    created_by: str | None
    """The name of the caller who submitted or imported it; null if nobody's name was known."""
    counters: Counters
    estimate: TimeEstimate

    @property
    def timed(self) -> str:
        """How it is timed, in words."""
        alone = ", one case a function" if self.timed_cases is TimedCases.representative else ""
        first = "; run 1 for verdicts alone" if self.verdicts_first else ""
        return str(self.timing) if self.timing is TimingPolicy.off else f"{self.timing}{alone}{first}"


class CampaignDetail(Campaign):
    by_target: list[CampaignTarget]


class PlannedTarget(BaseModel):
    """A target's part of what would be planned."""

    target: str
    jobs: int
    functions: int
    estimate: TimeEstimate


class DryRun(BaseModel):
    """The plan of a submission that stores nothing."""

    jobs: int
    functions: int
    cases: int
    not_charted: list[str] = []
    """Functions of the sample that the suite has no case of."""
    targets: list[str]
    estimate: TimeEstimate
    """The slowest target's time: targets run side by side."""
    by_target: list[PlannedTarget]


class VerdictCount(BaseModel):
    """Functions of one target that have the same verdicts and causes, by how many there are."""

    target_id: int
    verdict: str
    verdict_on_device: str | None
    cause: str | None
    cause_on_device: str | None
    not_counted_cause: str | None
    lowering: str | None = None
    """``lowered`` or ``not_lowered``, on a target whose programs are lowered and not run."""
    functions: int


class RecentFailure(BaseModel):
    """One outcome that did not pass."""

    job_id: int
    case: str
    function: str
    framework: str
    version: str
    device: str
    run: int
    verdict: str
    cause: str | None
    said: str | None
    """The beginning of its evidence."""
    finished_at: datetime


class CampaignPage(BaseModel):
    campaigns: list[Campaign]
    next: int | None
    """Pass as ``before`` to read on."""
