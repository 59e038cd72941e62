"""REST models of reclassification and overrides."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from coordinator.http.storable import STORABLE, STORABLE_SCHEMA
from protocol.enums import Cause, Verdict

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), STORABLE, STORABLE_SCHEMA]
Words = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000), STORABLE, STORABLE_SCHEMA
]


class Reclassification(BaseModel):
    """The number of outcomes that changed from one classification to another."""

    was: Cause | None
    was_rule: str | None
    now: Cause | None
    now_rule: str | None
    outcomes: int


class Reclassified(BaseModel):
    """The changes that the current rules made to stored outcomes."""

    rules: str
    """The revision of the rules."""
    looked_at: int
    changed: int
    overridden: int
    """The number of outcomes that did not change because a person set their cause."""
    unreported: int
    """The number of outcomes that did not change because the coordinator set their cause: their runner never reported
    an outcome."""
    changes: list[Reclassification]


class OverrideRequest(BaseModel):
    """A request to set the cause of a case on a target, for all runs of the case that did not pass."""

    model_config = ConfigDict(extra="forbid")

    case: Name
    target: Name
    """A selector that names one target of the campaign, such as `torch/xla`."""
    cause: Cause
    why: Words


class Override(BaseModel):
    """A cause that a person set, as it is stored."""

    case: str
    target: str
    cause: Cause
    verdict: Verdict
    by: str
    why: str
    at: datetime
    outcomes: int
    """The number of runs that the override applies to."""


class OverrideList(BaseModel):
    overrides: list[Override]
