"""The request models of campaigns over REST: submitting a campaign, and cancelling a part of a campaign."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from coordinator.catalogue.models import FunctionSample
from coordinator.http.storable import LARGEST_INTEGER, Text
from protocol.defaults import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S
from protocol.enums import DEFAULT_SUITE, TimedCases, TimingPolicy

Word = Annotated[Text, Field(min_length=1, max_length=200)]


class Rerun(BaseModel):
    """A request to plan only the cases that failed, or were incomplete, in an earlier campaign."""

    model_config = ConfigDict(extra="forbid")

    campaign: int = Field(ge=1, le=LARGEST_INTEGER)
    which: Literal["failed", "incomplete"]


class CampaignRequest(BaseModel):
    """A submission. It fixes everything about the campaign. With ``dry_run``, the campaign is planned and not
    stored."""

    model_config = ConfigDict(extra="forbid")

    name: Text | None = Field(default=None, max_length=200)
    suite: Text = Field(default=DEFAULT_SUITE, max_length=200)
    targets: list[Word] = Field(default=["*/*"], min_length=1, max_length=100)
    functions: list[Word] = Field(default=["*"], min_length=1, max_length=1000)
    runs: int = Field(default=3, ge=1, le=100)
    timeout_s: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=MAX_TIMEOUT_S, allow_inf_nan=False)
    timing: TimingPolicy | None = None
    """The timing policy. If null, the policy that the suite declares; if the suite declares none, ``steady``."""
    timed_cases: TimedCases | None = None
    """Whether all cases of a function are timed, or only one of them, so that the remaining cases run only for their
    verdict. If null, the suite's declaration is used; if the suite declares none, all cases are timed."""
    verdicts_first: bool = False
    """Do not time run 1, so that the verdicts of all targets are known before anything is timed."""
    rerun: Rerun | None = None
    sample: FunctionSample | None = None
    """Chart the functions of this sample. The suite must have cases for them, and the targets must have the sample's
    framework."""
    dry_run: bool = Field(default=False, strict=True)
    """Plan the campaign without submitting it. Only ``true`` is accepted, because a misread *false* would submit a
    campaign."""

    @model_validator(mode="after")
    def _require_the_samples_own_functions(self) -> Self:
        if self.sample is not None and self.functions != ["*"]:
            raise ValueError("a sample already names the functions: give either 'functions' or 'sample'")
        if self.sample is not None and self.rerun is not None:
            raise ValueError("a rerun has its own functions: give either 'rerun' or 'sample'")
        return self

    @model_validator(mode="after")
    def _require_timed_runs(self) -> Self:
        if self.verdicts_first and (self.runs < 2 or self.timing is TimingPolicy.off):
            raise ValueError(
                "verdicts_first leaves run 1 untimed and times the others: ask for at least 2 runs and turn timing on"
            )
        return self


class Cancellation(BaseModel):
    """The part of a campaign to cancel: its jobs on these targets, or all of its jobs if no target is named."""

    model_config = ConfigDict(extra="forbid")

    targets: list[Word] = Field(default=[], max_length=100)
