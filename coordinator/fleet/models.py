"""What runners look like over REST. Secrets go in and never come out."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator


class RunnerRegistration(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str = Field(max_length=500, description="where the coordinator reaches the runner, http or https")
    secret: str = Field(default="", max_length=500, description="the bearer secret it was started with")

    @field_validator("url")
    @classmethod
    def _reachable_by_http(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")) or len(url.split("://", 1)[1]) == 0:
            raise ValueError("must begin with http:// or https:// and name a host")
        return url.rstrip("/")


class Runner(BaseModel):
    id: int
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
    """Name to revision."""
    in_flight: int
    last_seen: datetime | None
    quarantined_until: datetime | None
    fingerprint: dict[str, Any]


class RunnerList(BaseModel):
    runners: list[Runner]
