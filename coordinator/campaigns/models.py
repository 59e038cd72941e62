"""The response models of campaigns over REST; the request models are in ``request.py``."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from coordinator.figures.counting import Counts
from protocol.enums import TimedCases, TimingPolicy


class Counters(BaseModel):
    total: int
    done: int
    passed: int
    failed: int
    skipped: int
    incomplete: int
    cancelled: int

    @property
    def settled(self) -> int:
        """Jobs that are done or cancelled."""
        return self.done + self.cancelled


class TimeEstimate(BaseModel):
    """Time left, in seconds; null if it cannot be estimated."""

    seconds: float | None
    measured_jobs: int
    """The number of finished jobs behind the estimate."""


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
    """A sentence for each runner of the target that does not serve it now, with the reason."""
    verdicts_complete: bool | None
    """Whether no job of the untimed run 1 is left; null if the campaign has none."""
    counters: Counters
    estimate: TimeEstimate

    @property
    def waits(self) -> bool:
        """Jobs are left, and no runner serves them."""
        return not self.live_runners and self.counters.settled < self.counters.total


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
    """The name of the sample of its functions; null if the functions were chosen otherwise."""
    not_charted: list[str] = []
    """The requested functions (names or globs) for which the suite has no case on these targets."""
    created_at: datetime
    finished_at: datetime | None
    imported_at: datetime | None
    """When its bundle was imported; all its other times are by the clock of the machine that ran it."""
    created_by: str | None
    """The name of the caller who submitted or imported it; null if the caller had none."""
    signed_by: str | None = None
    """The name of the trusted key that signed its bundle; null if it was dispatched or unsigned, or the key is
    revoked."""
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
    """The part of a planned campaign that one target runs."""

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
    """The requested functions (names or globs) for which the suite has no case on these targets."""
    targets: list[str]
    estimate: TimeEstimate
    """The slowest target's time: targets run side by side."""
    by_target: list[PlannedTarget]


class VerdictCount(BaseModel):
    """How many functions of one target have the same verdict and cause by a counting rule."""

    target_id: int
    rule: str
    verdict: str | None
    """None for functions without a verdict by this rule."""
    cause: str | None
    """The main cause of its failures by this rule; for functions without a counted case, why their cases are not
    counted."""
    lowering: str | None = None
    """``lowered`` or ``not_lowered``, on a target whose programs are lowered and not run."""
    of_another_device: int = 0
    """The failed cases of each that need another device than the target's."""
    anywhere: Counts | None = None
    """The counts of each by the rule *anywhere*, where some of its cases need another device."""
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
    """The beginning of its message."""
    finished_at: datetime


class CampaignPage(BaseModel):
    campaigns: list[Campaign]
    next: int | None
    """Pass it as ``before`` to get the next page."""
