"""The models of a comparison over REST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from coordinator.results.comparison.latencies import LatencyChange
from coordinator.results.models import WhichVerdict
from coordinator.targets.models import Target

Kind = Literal["regression", "fix", "same", "insufficient data"]


class Side(BaseModel):
    """A campaign; with a selector, one target of it."""

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


class VerdictChange(BaseModel):
    """A function whose verdicts on the two sides are not the same, or cannot be compared."""

    function: str
    kind: Kind
    a: SideVerdict | None
    b: SideVerdict | None
    why: str | None
    """Of insufficient data: what is missing."""


class Counts(BaseModel):
    fails_on_a_passes_on_b: int
    passes_on_a_fails_on_b: int
    regressions: int
    fixes: int
    same: int
    insufficient: int


class VerdictComparison(BaseModel):
    """The functions whose verdict changed between the two targets of a pair."""

    counts: Counts
    changes: list[VerdictChange]
    """All but those that are the same."""


class LatencyComparison(BaseModel):
    """The functions of a pair that became slower or faster; false alarms are held under 1 %."""

    factor: float
    """The change that is looked for."""
    refused: str | None
    """Why these two cannot be compared, if so."""
    slower: int
    faster: int
    same: int
    insufficient: int
    changes: list[LatencyChange]
    """All but those that are the same."""


class Pair(BaseModel):
    """A target of one side and its counterpart on the other, of one suite."""

    framework: str
    a: Target
    b: Target
    notes: list[str]
    changed_functions: list[str] = []
    """Functions whose cases are other ones on the two sides, under two revisions of the suite: these are not
    compared."""


class Omission(BaseModel):
    """A target, or two, that is not compared, and why."""

    target: str
    side: Literal["a", "b", "both"]
    why: str


class Pairing(BaseModel):
    """The targets of both sides that are compared, and those that are not."""

    a: Side
    b: Side
    verdict: WhichVerdict
    pairs: Sequence[Pair]
    left_out: list[Omission]


class PairComparison(Pair):
    verdicts: VerdictComparison
    latencies: LatencyComparison


class Comparison(Pairing):
    pairs: Sequence[PairComparison]
