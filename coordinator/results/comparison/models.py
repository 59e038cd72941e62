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
"""The kind of a function's change. ``mixed``: some cases got worse and others better. ``change``: cases failed with
another cause, or passed with another placement, and nothing else changed. ``lost``: no case changed, and some cases
count only on A.
"""

CaseKind = Literal["worse", "better", "cause", "placement", "lost", "same", "insufficient data", "not compared"]
"""The kind of a case's change. ``lost``: the case counts on A and has no result on B. ``not compared``: neither side
counted it, or its name means different cases in the two revisions of the suite."""

NAMED = 3
"""The maximum number of cases that a line names; JSON contains all."""


class Side(BaseModel):
    """A campaign, or one of its targets if a selector is set."""

    campaign: int
    name: str
    suite: str
    state: str
    timing: str
    selector: str | None


class SideVerdict(BaseModel):
    """The verdict of one function on one side."""

    verdict: str
    passed: int
    total: int
    flaky: int
    cause: str | None
    conditions: list[str] = []
    """The options with which the function's cases fail or fall back, and the reference that judged the cases. Empty
    unless the function changed or was lost."""


class SideCase(BaseModel):
    """The result of one case on one side, over its runs."""

    verdict: Literal["passed", "failed", "flaky", "unproven", "skipped", "incomplete"]
    """``flaky`` means that counted runs disagree. ``unproven`` means that the case passed with unknown placement, so
    rules about the device do not count it."""
    causes: list[str]
    """The causes of the failed runs. If no run of the case counts, the causes for which no run counts."""
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
    """The reason why the case is lost, is not compared or has too few data."""


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
    "cause": "with another cause",
    "placement": "with another placement",
    "lost": "without a result on B",
}


class VerdictChange(BaseModel):
    """A function with a changed case, or a function that cannot be compared."""

    function: str
    kind: Kind
    a: SideVerdict | None
    b: SideVerdict | None
    counts: CaseCounts
    cases: list[CaseChange]
    """The changed cases. Unchanged cases are not included."""
    why: str | None
    """The reason why cases are lost, or why there are too few data."""

    @property
    def moves(self) -> str:
        """The changed and lost cases in words: ``1 worse (torch.cat/uint8), 2 with another cause (…)``."""
        return ", ".join(
            f"{len(names):,} {words} ({', '.join(names[:NAMED])}{', …' * (len(names) > NAMED)})"
            for kind, words in _MOVES.items()
            if (names := [case.case for case in self.cases if case.kind == kind])
        )


class ChangeCounts(BaseModel):
    """How many functions changed in which way. Each function is counted in exactly one of the last seven fields."""

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
    """The changed functions. Unchanged functions are not included."""

    @property
    def changed(self) -> bool:
        """Whether a case changed in any way."""
        return bool(self.cases.worse or self.cases.better or self.cases.cause or self.cases.placement)


class LatencyComparison(BaseModel):
    """The functions of a pair that became slower or faster. Less than 1 % of the unchanged functions are reported by
    mistake.
    """

    factor: float
    """The change to detect, as a factor."""
    least: float
    """The smallest change that counts, as a factor."""
    between_halves: tuple[float | None, float | None]
    """For A and for B, the difference between two halves of the campaign's own runs, where nothing changed; null if no
    case has two runs. Smaller changes do not count.
    """
    refused: str | None
    """The reason why the latencies cannot be compared; null if they can."""
    slower: int
    faster: int
    same: int
    insufficient: int
    changes: list[LatencyChange]
    """The changed functions. Unchanged functions are not included."""

    @property
    def host(self) -> str:
        """One sentence that says how large a difference the campaigns' hosts alone could cause."""
        halves = [
            f"{letter} differs by up to {ratio(change)}" if change else f"{letter} has no halves"
            for letter, change in zip("AB", self.between_halves, strict=True)
        ]
        return (
            f"Between its own halves, where nothing changed, {join_words(halves)} in {percent(AGREEING)} of the "
            "functions: no smaller change counts"
        )


class TargetPair(BaseModel):
    """A target of one side and its counterpart on the other side. Both were charted with the same suite."""

    framework: str
    a: Target
    b: Target
    notes: list[str]
    other_cases: list[str] = []
    """Cases of charted functions that differ between the two revisions of the suite, or that only one of them has. They
    are not compared."""


class Omission(BaseModel):
    """A target or a pair that is not compared, with the reason."""

    target: str
    side: Literal["a", "b", "both"]
    why: str
    absent: bool = False
    """Whether the other campaign has no target with this framework and device."""


class Pairing(BaseModel):
    """The pairs of targets that are compared, and the targets that are not."""

    a: Side
    b: Side
    rule: str
    """The counting rule by which the verdicts are computed."""
    pairs: Sequence[TargetPair]
    left_out: list[Omission]


class PairComparison(TargetPair):
    verdicts: VerdictComparison
    latencies: LatencyComparison


class ComparisonGate(StrEnum):
    """A kind of change that a pipeline can fail on."""

    regression = "regression"
    """A case got worse."""
    change = "change"
    """A case changed in any way."""
    slower = "slower"
    """A function, or one of its cases, became slower."""
    lost = "lost"
    """A case that counts in A has no result in B, or B has no target that corresponds to a target of A."""


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
