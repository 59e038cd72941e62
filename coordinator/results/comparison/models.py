"""What a comparison looks like over REST."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from coordinator.results.models import WhichVerdict
from coordinator.targets.models import Target

Kind = Literal["regression", "fix", "same", "insufficient data"]
Speed = Literal["slower", "faster", "same", "insufficient data"]


class Side(BaseModel):
    """A campaign; with a selector, one target of it."""

    campaign: int
    name: str
    suite: str
    state: str
    timing: str
    selector: str | None


class Half(BaseModel):
    """One function on one side."""

    verdict: str
    passed: int
    total: int
    flaky: int
    cause: str | None


class Change(BaseModel):
    """A function whose verdicts on the two sides are not the same, or cannot be compared."""

    function: str
    kind: Kind
    a: Half | None
    b: Half | None
    why: str | None
    """Of insufficient data: what is missing."""


class Counts(BaseModel):
    fails_on_a_passes_on_b: int
    passes_on_a_fails_on_b: int
    regressions: int
    fixes: int
    same: int
    insufficient: int


class Verdicts(BaseModel):
    """The functions whose verdict changed between the two targets of a pair."""

    counts: Counts
    changes: list[Change]
    """All but those that are the same."""


class LatencyChange(BaseModel):
    """``ratio`` and its interval: how many times slower B is than A."""

    function: str
    change: Speed
    ratio: float | None
    interval: tuple[float, float] | None
    cases: int
    runs: tuple[int, int]


class Latencies(BaseModel):
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
    """A target of one side and its counterpart on the other, of one suite revision."""

    framework: str
    a: Target
    b: Target
    notes: list[str]


class LeftOut(BaseModel):
    """What is not compared, and why."""

    target: str
    side: Literal["a", "b", "both"]
    why: str


class Paired(BaseModel):
    """What is compared with what."""

    a: Side
    b: Side
    verdict: WhichVerdict
    pairs: list[Pair]
    left_out: list[LeftOut]


class ComparedPair(Pair):
    verdicts: Verdicts
    latencies: Latencies


class Compared(BaseModel):
    a: Side
    b: Side
    verdict: WhichVerdict
    pairs: list[ComparedPair]
    left_out: list[LeftOut]
