"""Posting work to a runner: ``POST /v1/jobs``."""

from enum import StrEnum

from pydantic import Field

from protocol.defaults import MAX_TIMEOUT_S
from protocol.enums import TimingPolicy
from protocol.limits import AttemptNumber, CaseName, Name, RunNumber
from protocol.model import Message

MAX_JOBS_PER_POST = 1_000


class Job(Message):
    """One attempt at one case. The runner must not interpret ``id``. ``attempt`` counts from 1."""

    id: str = Field(max_length=64, pattern=r"^[A-Za-z0-9_.:-]+$")
    attempt: AttemptNumber
    case: CaseName
    run: RunNumber
    timeout_s: float = Field(gt=0, le=MAX_TIMEOUT_S)
    timing: TimingPolicy = TimingPolicy.steady


class JobBatch(Message):
    boot_id: Name
    suite: Name
    revision: Name
    jobs: list[Job] = Field(min_length=1, max_length=MAX_JOBS_PER_POST)


class JobStatus(StrEnum):
    queued = "queued"
    """The job is accepted."""
    known = "known"
    """The runner already has this attempt, or the request has this attempt twice. Nothing changes."""
    stale_attempt = "stale_attempt"
    """The runner has a newer attempt of the job."""
    other_case = "other_case"
    """The runner has a job with this id, but with another suite, case or run. The new job is not accepted, and the
    existing job continues."""
    unknown_case = "unknown_case"
    """The case or its suite is not in the catalogue."""
    full = "full"
    """``queue_limit`` jobs are waiting. Running and starting jobs do not count."""


class JobReceipt(Message):
    id: Name
    attempt: AttemptNumber
    status: JobStatus


class JobReceipts(Message):
    jobs: list[JobReceipt] = Field(max_length=MAX_JOBS_PER_POST)
