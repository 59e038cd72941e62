"""The findings of a check, one of each clause, and the report that they make. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Level(StrEnum):
    """The extent of a check."""

    probe = "probe"
    """Only what needs no long waiting: some seconds in all."""
    full = "full"


class Result(StrEnum):
    passed = "passed"
    failed = "failed"
    not_run = "not run"
    """The runner offers nothing to check it with, or an earlier finding forbids it; never a pass."""


class ClauseFinding(BaseModel):
    """The finding of one clause."""

    model_config = ConfigDict(frozen=True)

    id: str
    sentence: str
    result: Result
    detail: str | None = None
    """The observation that breaks the clause, or the reason why it was not run."""
    seconds: float

    def lines(self) -> Iterator[str]:
        """The finding for a person, its sentence always included."""
        word = "FAILED" if self.result is Result.failed else self.result.value
        yield f"{word:<8} {self.id:<22} {self.sentence}"
        if self.detail:
            yield f"{'':<31} {self.detail}"


class ConformanceReport(BaseModel):
    """All findings, in the order of the contract."""

    model_config = ConfigDict(frozen=True)

    url: str
    level: Level
    runner: str
    """Its own description: ``torch@2.9.0/cpu on AMD EPYC``."""
    findings: list[ClauseFinding]

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
