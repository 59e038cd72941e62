"""The findings of a check, one for each clause, and the report of all findings. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Level(StrEnum):
    """How many clauses a check tests."""

    probe = "probe"
    """Only checks without long waits. Together they take some seconds."""
    full = "full"


class Result(StrEnum):
    passed = "passed"
    failed = "failed"
    not_run = "not run"
    """The clause was not checked, because the runner lacks something that the check needs, or because of an earlier
    finding. ``not_run`` does not count as passed."""


class ClauseFinding(BaseModel):
    """The result of checking one clause."""

    model_config = ConfigDict(frozen=True)

    id: str
    sentence: str
    result: Result
    detail: str | None = None
    """For a broken clause, the observation that shows it. For a clause that was not checked, the reason."""
    seconds: float

    def lines(self) -> Iterator[str]:
        """The finding as text for people. The sentence of the clause is always included."""
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
    """The runner's description: ``torch@2.9.0/cpu on AMD EPYC``."""
    findings: list[ClauseFinding]

    def count(self, result: Result) -> int:
        return sum(finding.result is result for finding in self.findings)

    @property
    def conforms(self) -> bool:
        """Whether no clause failed. A clause that was not checked does not count as failed."""
        return self.count(Result.failed) == 0

    @property
    def summary(self) -> str:
        counts = ", ".join(f"{self.count(result)} {result}" for result in Result)
        return f"{self.runner}: {counts}"
