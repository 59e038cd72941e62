"""The answers of REST about deleting."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field


class DeletedCampaign(BaseModel):
    """A campaign that is gone, with the number of rows that went with it."""

    id: int
    name: str
    jobs: int
    outcomes: int


class StoredSuite(BaseModel):
    """A suite under one revision, as the database holds it, and what keeps it from being deleted."""

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
    """All suites, by framework, name and age."""

    suites: list[StoredSuite]
