"""The response models of campaigns over REST; the request models are in ``request.py``."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from coordinator.figures.counting import Counts
from coordinator.figures.formats import duration
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
        """The number of jobs that are done or cancelled."""
        return self.done + self.cancelled


class TimeEstimate(BaseModel):
    """The time left in seconds; null if it cannot be estimated."""

    seconds: float | None
    measured_jobs: int
    """The number of finished jobs from which the time is estimated."""
    is_lower_bound: bool = False
    """Whether the remaining jobs take longer than the finished ones. It is true while a campaign that determines
    verdicts first runs: its remaining jobs are timed, and timed jobs take longer than the untimed ones before them."""

    @property
    def words(self) -> str:
        """The time left: ``3 min 05 s``, ``at least 3 min 05 s``, ``–`` if it is unknown."""
        is_bound = self.is_lower_bound and self.seconds is not None
        return f"at least {duration(self.seconds)}" if is_bound else duration(self.seconds)


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
    """One sentence for each runner that should serve the target but does not now, with the reason."""
    verdicts_complete: bool | None
    """Whether every job of the untimed run 1 has ended; null if the campaign has no untimed run."""
    counters: Counters
    estimate: TimeEstimate

    @property
    def waits(self) -> bool:
        """Whether the target has jobs left but no runner serves it."""
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
    """The name of the sample whose functions the campaign runs; null if its functions were chosen in another way."""
    not_charted: list[str] = []
    """The requested functions (names or globs) for which the suite has no case on these targets."""
    created_at: datetime
    finished_at: datetime | None
    imported_at: datetime | None
    """The time at which the bundle was imported. All other times come from the clock of the machine that ran the
    campaign."""
    created_by: str | None
    """The name of the caller who submitted or imported the campaign; null without access control."""
    signed_by: str | None = None
    """The name of the trusted key that signed the bundle. Null if the campaign ran here, if the bundle was unsigned, or
    if the key is revoked."""
    counters: Counters
    estimate: TimeEstimate

    @property
    def timed(self) -> str:
        """How the campaign times its cases, in words."""
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
    """The plan of a submission with ``dry_run``. Nothing is stored."""

    jobs: int
    functions: int
    cases: int
    not_charted: list[str] = []
    """The requested functions (names or globs) for which the suite has no case on these targets."""
    targets: list[str]
    estimate: TimeEstimate
    """The estimated time of the slowest target. Targets run in parallel."""
    by_target: list[PlannedTarget]


class VerdictCount(BaseModel):
    """The number of functions of one target that have the same verdict and the same cause under a counting rule."""

    target_id: int
    rule: str
    verdict: str | None
    """The verdict; None for functions without a verdict by this rule."""
    cause: str | None
    """The main cause of the failures by this rule. For functions without a counted case, the reason why none is
    counted."""
    lowering: str | None = None
    """``lowered`` or ``not_lowered``, for a target that lowers programs and does not run them."""
    of_another_device: int = 0
    """For each of these functions, the number of failed cases that need another device than the target's."""
    anywhere: Counts | None = None
    """For each of these functions, its counts by the rule *anywhere*, if some of its cases need another device."""
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
    """The beginning of the outcome's message."""
    finished_at: datetime


class CampaignPage(BaseModel):
    campaigns: list[Campaign]
    next: int | None
    """Pass this as ``before`` to get the next page."""
