"""The models of a comparison over REST."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel

from coordinator.figures.formats import join_words, percent, ratio
from coordinator.results.comparison.latencies import AGREEING, LatencyChange
from coordinator.targets.models import Target

Kind = Literal["regression", "fix", "mixed", "change", "lost", "same", "insufficient data"]
"""Of a function: ``mixed`` if some cases got worse and others better, ``change`` if cases failed by another cause or
passed at another placement only, ``lost`` if no case changed and some count on A alone."""

CaseKind = Literal["worse", "better", "cause", "placement", "lost", "same", "insufficient data", "not compared"]
"""Of a case: ``lost`` if it counts on A and has no result on B, ``not compared`` if neither side counted it, or the two
revisions of the suite mean other cases by it."""

NAMED = 3
"""The most cases that a line names; the json has all."""


class Side(BaseModel):
    """A campaign, or with a selector one of its targets."""

    campaign: int
    name: str
    suite: str
    state: str
    timing: str
    selector: str | None


class SideVerdict(BaseModel):
    """One function on one side."""

    verdict: str
    passed: int
    total: int
    flaky: int
    cause: str | None
    conditions: list[str] = []
    """For a function that changed or was lost: the options on which its cases fail or fall back, and who judged."""


class SideCase(BaseModel):
    """One case on one side, over its runs."""

    verdict: Literal["passed", "failed", "flaky", "unproven", "skipped", "incomplete"]
    """``flaky``: counted runs disagree; ``unproven``: it passed with unknown placement, which counts nowhere on the
    device."""
    causes: list[str]
    """Causes of the failed runs; for a case without a counted run, why it does not count."""
    placements: list[str]
    """Placements of the runs that passed."""
    runs: int


class CaseChange(BaseModel):
    """One case on both sides."""

    case: str
    kind: CaseKind
    a: SideCase | None
    b: SideCase | None
    why: str | None
    """The reason, for cases that are lost or not compared and for insufficient data."""


class CaseCounts(BaseModel):
    """How many cases changed in which way."""

    worse: int
    better: int
    cause: int
    placement: int
    lost: int
    same: int
    insufficient: int
    not_compared: int


_MOVES: dict[CaseKind, str] = {
    "worse": "worse",
    "better": "better",
    "cause": "by another cause",
    "placement": "at another placement",
    "lost": "without a result on B",
}


class VerdictChange(BaseModel):
    """A function with a changed case, or one that cannot be compared."""

    function: str
    kind: Kind
    a: SideVerdict | None
    b: SideVerdict | None
    counts: CaseCounts
    cases: list[CaseChange]
    """The changes, without those that are the same."""
    why: str | None
    """The reason, for lost cases and for insufficient data."""

    @property
    def moves(self) -> str:
        """The cases that changed or were lost: ``1 worse (torch.cat/uint8), 2 by another cause (…)``."""
        return ", ".join(
            f"{len(names):,} {words} ({', '.join(names[:NAMED])}{', …' * (len(names) > NAMED)})"
            for kind, words in _MOVES.items()
            if (names := [case.case for case in self.cases if case.kind == kind])
        )


class ChangeCounts(BaseModel):
    """How many functions changed in which way; each is in one of the last seven."""

    fails_on_a_passes_on_b: int
    passes_on_a_fails_on_b: int
    regressions: int
    fixes: int
    mixed: int
    changes: int
    lost: int
    same: int
    insufficient: int


class VerdictComparison(BaseModel):
    """The functions with a case that changed between the two targets of a pair."""

    counts: ChangeCounts
    cases: CaseCounts
    changes: list[VerdictChange]
    """The changes, without those that are the same."""

    @property
    def changed(self) -> bool:
        """Whether a case changed in any way."""
        return bool(self.cases.worse or self.cases.better or self.cases.cause or self.cases.placement)


class LatencyComparison(BaseModel):
    """The functions of a pair that became slower or faster; false alarms are held under 1 %."""

    factor: float
    """The change to detect."""
    least: float
    """No smaller change counts."""
    between_halves: tuple[float | None, float | None]
    """The change that A and B show each between its own halves, where nothing changed; null if it has no two runs of a
    case. No smaller change counts either."""
    refused: str | None
    """Why these two cannot be compared; null if they can."""
    slower: int
    faster: int
    same: int
    insufficient: int
    changes: list[LatencyChange]
    """The changes, without those that are the same."""

    @property
    def host(self) -> str:
        """The change that the hosts of the two campaigns could have shown, in one sentence."""
        halves = [
            f"{letter} differs by up to {ratio(change)}" if change else f"{letter} has no halves"
            for letter, change in zip("AB", self.between_halves, strict=True)
        ]
        return (
            f"Between its own halves, where nothing changed, {join_words(halves)} in {percent(AGREEING)} of the "
            "functions: no smaller change counts"
        )


class TargetPair(BaseModel):
    """A target of one side and its counterpart on the other, of one suite."""

    framework: str
    a: Target
    b: Target
    notes: list[str]
    other_cases: list[str] = []
    """Cases of the functions charted that are other ones, or in one revision of the suite alone: these are not
    compared."""


class Omission(BaseModel):
    """One target or a pair that is not compared, and why."""

    target: str
    side: Literal["a", "b", "both"]
    why: str
    absent: bool = False
    """Whether the other campaign has no target of its framework and device."""


class Pairing(BaseModel):
    """The targets of both sides that are compared, and those that are not."""

    a: Side
    b: Side
    rule: str
    """The counting rule that verdicts are by."""
    pairs: Sequence[TargetPair]
    left_out: list[Omission]


class PairComparison(TargetPair):
    verdicts: VerdictComparison
    latencies: LatencyComparison


class ComparisonGate(StrEnum):
    """A kind of change that a pipeline can fail on."""

    regression = "regression"
    change = "change"
    slower = "slower"
    lost = "lost"


class Comparison(Pairing):
    pairs: Sequence[PairComparison]

    def fails(self, gate: ComparisonGate) -> bool:
        match gate:
            case ComparisonGate.regression:
                return any(pair.verdicts.cases.worse for pair in self.pairs)
            case ComparisonGate.change:
                return any(pair.verdicts.changed for pair in self.pairs)
            case ComparisonGate.slower:
                return any(pair.latencies.slower for pair in self.pairs)
            case ComparisonGate.lost:
                absent = any(target.side == "a" and target.absent for target in self.left_out)
                return absent or any(pair.verdicts.cases.lost for pair in self.pairs)
