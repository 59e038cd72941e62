"""The matrix and a function's history as REST, pages and comparisons have them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from pydantic import BaseModel

from coordinator.catalogue.models import ChartedSample
from coordinator.formats import fraction, plural
from coordinator.results.inputs import failing_inputs
from coordinator.results.lowerings import lowering_words
from coordinator.results.statistics import Rate
from coordinator.targets.models import Target

WhichVerdict = Literal["anywhere", "on_device"]
"""The verdict that counts: ``anywhere``, where a fallback to the host passes, or ``on_device``, where it fails."""

CountedVerdict = Literal["anywhere", "on_device", "independent"]
"""Of a matrix also ``independent``: of the cases alone that a reference other than the function itself judged."""


class FunctionKey(NamedTuple):
    """A row of the matrix."""

    framework: str
    module: str
    function: str


class Judgement(NamedTuple):
    """One of a cell's two verdicts, with the cases that it counts and the main cause."""

    verdict: str
    passed: int
    total: int
    cause: str | None

    @property
    def fraction(self) -> str:
        return fraction(self.passed, self.total)

    @property
    def description(self) -> str:
        return f"{self.fraction} cases passed: {self.verdict}" if self.total else "no counted case"


class RatedFunction(Protocol):
    """A function on a target: its verdict, and how many of its failed cases need a device that the target is not."""

    @property
    def verdict(self) -> str: ...
    @property
    def failed(self) -> int: ...
    @property
    def of_another_device(self) -> int: ...


def is_rated(function: RatedFunction) -> bool:
    """Whether the function is in any rate of its target: not if no case counted, nor if all that did need another
    device, which is no evidence of a port."""
    whole = function.verdict == "complete" and function.of_another_device == function.failed
    return function.verdict != "unknown" and not whole


class Cell(BaseModel):
    """One function on one target in one campaign. Counts are of cases."""

    campaign_id: int
    framework: str
    module: str
    function: str
    target_id: int
    host_only: bool
    verdict: str
    verdict_on_device: str | None
    passed: int
    failed: int
    total: int
    passed_on_device: int | None
    total_on_device: int | None
    unknown_placement: int | None
    """Cases that passed without proof of where: in no count on the device."""
    skipped: int
    incomplete: int
    flaky: int
    fell_back: int
    cause: str | None
    cause_on_device: str | None
    not_counted_cause: str | None
    unknown_cause: int
    """Failed cases whose cause no rule knows."""
    cold_ms: float | None
    """The first call of a case: ``first_cold_ms`` and ``later_cold_ms`` mixed."""
    first_cold_ms: float | None
    """Of the first case of a process, with whatever a process does once."""
    later_cold_ms: float | None
    """Of a case after others of its process."""
    low_ms: float | None
    """A call after warm-up, undisturbed: the level of a case is its best run's low quantile."""
    steady_ms: float | None
    """The median beside it."""
    noisy: int | None
    """Cases whose median parts from their level: it is the host's as much as the call's."""
    unconfirmed: bool | None = None
    """Of half of the cases or more no second run confirms the level; None if no case has two runs."""
    iqr_ms: float | None
    samples: int | None
    """Behind ``steady_ms``, over all cases and runs."""
    ratio_to_cpu: float | None
    """Geometric mean, over the cases that both measured, of the level here to that on the nearest CPU."""
    ratio_cases: int | None
    """The number of cases that both measured."""
    cpu_target_id: int | None
    """The target that ``ratio_to_cpu`` is against."""
    lowered: int = 0
    """Cases that were lowered for the target's platform, and not run."""
    not_lowered: int = 0
    """Cases that compute something without a lowering there."""
    lowering: str | None = None
    """``lowered`` or ``not_lowered``, of a function that was lowered and not run, for want of a verdict."""
    missing_lowering: str | None = None
    """The operation that most of the cases without a lowering lack."""
    of_another_device: int = 0
    """Failed cases that need a device that the target is not."""

    verdict_independent: str | None = None
    """Of the cases that an independent reference judged."""
    cause_independent: str | None = None
    passed_independent: int = 0
    total_independent: int = 0
    failed_inputs: list[str] | None = None
    """Kinds of input of the failed cases, each combination once; null where the suite does not say."""
    passed_inputs: list[str] | None = None

    @property
    def is_rated(self) -> bool:
        return is_rated(self)

    @property
    def fails_on(self) -> str | None:
        """The kinds of input on which it fails, where it does so in part: ``only on empty input``."""
        return failing_inputs(self.failed_inputs or (), self.passed_inputs or ())

    @property
    def lowering_words(self) -> str | None:
        """The function in a word where it was lowered and not run, for want of a verdict."""
        return lowering_words(self)

    def judged(self, which: CountedVerdict) -> Judgement | None:
        """The verdict that counts; None on the device for a function that never touches one."""
        uncounted = self.not_counted_cause if self.total == 0 else None
        if which == "independent":
            verdict = self.verdict_independent or "unknown"
            cause = self.cause_independent or uncounted
            return Judgement(verdict, self.passed_independent, self.total_independent, cause)
        if which == "anywhere":
            return Judgement(self.verdict, self.passed, self.total, self.cause or uncounted)
        if self.verdict_on_device is None:
            return None
        return Judgement(
            self.verdict_on_device,
            self.passed_on_device or 0,
            self.total_on_device or 0,
            self.cause_on_device or uncounted,
        )

    @property
    def main_cause(self) -> str | None:
        """By either verdict; of a function without any counted case, of what is not counted."""
        return self.cause or self.cause_on_device or self.not_counted_cause

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that a reader must know beside the verdict and the counts."""
        return (
            *([f"fails {self.fails_on}"] if self.fails_on else []),
            *([f"{plural(self.fell_back, 'case')} fell back to the host"] if self.fell_back else []),
            *(
                [f"{plural(self.unknown_placement, 'case')} passed without proof of where"]
                if self.unknown_placement
                else []
            ),
            *(
                f"{count} {word}"
                for count, word in (
                    (self.flaky, "flaky"),
                    (self.skipped - self.lowered - self.not_lowered, "skipped"),
                    (self.incomplete, "incomplete"),
                )
                if count
            ),
        )


class Freshness(BaseModel):
    """From how many of the campaign's outcomes the matrix was made, and when."""

    outcomes: int
    of: int
    """Outcomes there are by now."""
    at: datetime | None
    """None: from none yet."""
    current: bool
    """Since then no outcome has come in, no cause has changed, and no figure has got another definition."""


class Module(BaseModel):
    """Some neighbouring rows of the matrix."""

    framework: str
    name: str
    functions: int
    first: int
    """The number of rows of the whole before its first."""


class MatrixRow(BaseModel):
    framework: str
    module: str
    function: str
    host_only: bool
    cells: dict[int, Cell]
    """By target; a target without any outcome of the function yet is absent."""


class MatrixPage(BaseModel):
    """Some rows of a campaign's matrix."""

    campaign_id: int
    name: str
    suite: str
    sample: str | None = None
    """The name of the sample that its functions are, if they are one."""
    state: str
    verdict: CountedVerdict
    query: str
    freshness: Freshness
    targets: list[Target]
    modules: list[Module]
    """Of all rows that the query finds."""
    found: int
    functions: int
    """That the campaign has outcomes of."""
    offset: int
    rows: list[MatrixRow]


class HistoryCell(Cell):
    """One function on one target in one campaign, with its campaign and target."""

    campaign: str
    created_at: datetime
    target: str
    version: str
    device: str
    device_class: str
    hardware: str
    environment: str
    suite: str
    suite_revision: str
    cases_digest: str | None
    """Of all that decides the results of the function's cases: cells with the same are comparable, also under two
    revisions of the suite. Null: its runner gives no digests, and only the revision tells."""
    simulated: bool
    sentences: list[str]
    changed: bool
    """A verdict differs from that of the cell before it in time, of the same device, hardware, suite and cases."""


class History(BaseModel):
    """One function over campaigns and versions of its framework, newest campaign first."""

    framework: str
    function: str
    cells: list[HistoryCell]


class PortRate(BaseModel):
    """Functions that port without a failure, of those with a case that counts."""

    count: int
    n: int
    percent: float | None
    low: float | None
    """With `high` the interval of 95 %, in percent; null of none."""
    high: float | None

    @classmethod
    def of(cls, rate: Rate) -> PortRate:
        low, high = rate.interval or (None, None)
        shares = [None if share is None else 100 * share for share in (rate.share, low, high)]
        return cls(count=rate.count, n=rate.n, percent=shares[0], low=shares[1], high=shares[2])

    @property
    def rate(self) -> Rate:
        return Rate(self.count, self.n)


class SampleRate(BaseModel):
    """A part of the sample on one target."""

    target_id: int
    target: str
    part: str
    """``all``, or how it was drawn."""
    drawn: int
    charted: int
    """Functions that the suite has cases of; the others are in no rate."""
    ports: PortRate
    """A fallback to the host passes."""
    ports_on_device: PortRate


class CampaignSample(BaseModel):
    """The sample that a campaign's functions are, and how much of it ports."""

    campaign_id: int
    suite: str
    sample: ChartedSample
    not_charted: list[str]
    rates: list[SampleRate]
