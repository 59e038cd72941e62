"""The report of a check: what was found of each clause, and how a person reads it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from coordinator.conformance.contract import Level


class Result(StrEnum):
    passed = "passed"
    failed = "failed"
    not_run = "not run"
    """The runner offers nothing to check it with, or an earlier finding forbids it; never a pass."""


class Finding(BaseModel):
    """What was found of one clause."""

    model_config = ConfigDict(frozen=True)

    id: str
    sentence: str
    result: Result
    detail: str | None = None
    """What was seen instead, or why it was not run."""
    seconds: float


class Report(BaseModel):
    """All findings, in the order of the contract."""

    model_config = ConfigDict(frozen=True)

    url: str
    level: Level
    runner: str
    """What it calls itself: ``torch@2.9.0/cpu on AMD EPYC``."""
    findings: list[Finding]

    def count(self, result: Result) -> int:
        return sum(finding.result is result for finding in self.findings)

    @property
    def conforms(self) -> bool:
        """Whether nothing failed. What was not run is not known."""
        return self.count(Result.failed) == 0

    @property
    def summary(self) -> str:
        counts = ", ".join(f"{self.count(result)} {result}" for result in Result)
        return f"{self.runner}: {counts}"


def shown(finding: Finding) -> Iterator[str]:
    """The lines of one finding, its sentence always among them."""
    word = finding.result.value if finding.result is not Result.failed else "FAILED"
    yield f"{word:<8} {finding.id:<22} {finding.sentence}"
    if finding.detail:
        yield f"{'':<31} {finding.detail}"
