"""REST models of runners. A runner's secret is only in the response to its own enrollment, and in no other response."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from protocol.enrolment import Enrolled, web_address


class RunnerRegistration(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, AfterValidator(web_address)] = Field(
        max_length=500, description="where the coordinator reaches the runner, http or https"
    )
    secret: str = Field(default="", max_length=500, description="the bearer secret it was started with")

    @field_validator("secret")
    @classmethod
    def _fits_a_header(cls, secret: str) -> str:
        # A library's complaint about the header would quote the secret.
        if not secret.isprintable():
            raise ValueError(
                "must be one line without control characters: give the one that the runner was started with"
            )
        return secret


class Runner(BaseModel):
    id: int
    name: str | None
    """The name under which the runner enrolled; null if a person registered it."""
    url: str
    state: Literal["online", "offline", "quarantined", "removed"]
    reason: str | None
    target: str
    framework: str
    version: str
    device: str
    device_class: str
    hardware: str
    environment: str
    simulated: bool
    device_count: int
    suites: dict[str, str]
    """The revision of each of the runner's suites, by suite name."""
    in_flight: int
    last_seen: datetime | None
    quarantined_until: datetime | None
    fingerprint: dict[str, Any]


class JobInFlight(BaseModel):
    """A job that the runner has and that is not done."""

    job_id: int
    campaign_id: int
    case: str
    run: int
    attempt: int
    state: str
    started_at: datetime | None


class RecentOutcome(BaseModel):
    """An outcome that the runner reported."""

    job_id: int
    campaign_id: int
    case: str
    run: int
    verdict: str
    cause: str | None
    placement: str
    finished_at: datetime


class Work(BaseModel):
    """A runner's current jobs and its latest outcomes."""

    in_flight: list[JobInFlight]
    recent: list[RecentOutcome]


class RunnerList(BaseModel):
    runners: list[Runner]


class EnrolledRunner(Enrolled):
    runner: Runner
