"""The response models of deletion over REST."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field


class DeletedCampaign(BaseModel):
    """The numbers of rows that were deleted with a campaign."""

    id: int
    name: str
    jobs: int
    outcomes: int


class StoredSuite(BaseModel):
    """A stored revision of a suite, and what prevents its deletion."""

    id: int
    framework: str
    name: str
    revision: str
    origin: str = Field(description="`runner`: what runners serve, whole; `bundle`: what bundles brought")
    cases: int
    created_at: datetime
    campaigns: list[int] = Field(description="that hold outcomes or jobs of it")
    runners: list[int] = Field(description="that serve it and are not removed")


class StoredSuites(BaseModel):
    """All stored suites, sorted by framework, name and age."""

    suites: list[StoredSuite]
