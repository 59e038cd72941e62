"""The matrix and a function's history, as REST, pages and comparisons use them."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel

from coordinator.catalogue.models import ChartedSample
from coordinator.figures.cell import Figures
from coordinator.figures.counting import ANYWHERE, NOTHING_COUNTED, RULES, CountedFunction, CountingRule, Counts
from coordinator.figures.formats import plural
from coordinator.results.inputs import failing_inputs
from coordinator.results.lowerings import lowering_words
from coordinator.results.statistics import Rate
from coordinator.targets.models import Target

_PLAIN_COLUMNS = tuple(name for name in Figures.model_fields if name != "counts")
_COUNT_COLUMNS = {f"{field.name}{rule.suffix}": (rule, field.name) for rule in RULES for field in fields(Counts)}
CELL_COLUMNS = (*_PLAIN_COLUMNS, *_COUNT_COLUMNS)
"""The columns of a cell in a flat row. The counts of each rule, such as ``verdict_on_device``, follow the other
columns."""


class FunctionKey(NamedTuple):
    """The framework, module and function that identify a row of the matrix."""

    framework: str
    module: str
    function: str


def is_rated(anywhere: Counts, of_another_device: int) -> bool:
    """Whether the rate of a target includes a function with these counts. False if no case counts, or if every
    counted case failed because it needs another device. Such failures say nothing about porting."""
    whole = anywhere.verdict == "complete" and of_another_device == anywhere.failed
    return anywhere.verdict != "unknown" and not whole


class Cell(CountedFunction, Figures):
    """One function on one target in one campaign. Counts are numbers of cases."""

    campaign_id: int
    framework: str
    module: str
    function: str
    target_id: int

    @property
    def is_rated(self) -> bool:
        return is_rated(self.anywhere, self.of_another_device)

    @property
    def fails_on(self) -> str | None:
        """The kinds of input on which the function fails, if it fails some of its cases: ``only on empty input``."""
        return failing_inputs(self.failed_inputs or (), self.passed_inputs or ())

    @property
    def lowering_words(self) -> str | None:
        """The function's lowering in words, for a target that only lowers programs."""
        return lowering_words(self)

    @property
    def uncounted(self) -> Counts:
        """Counts of zero. The cause says why no case of the function counts."""
        return replace(NOTHING_COUNTED, cause=None if self.anywhere.total else self.not_counted_cause)

    def counts_by(self, rule: CountingRule) -> Counts | None:
        """The function's counts by the rule; None if it has no verdict by the rule. If no case of the function counts,
        the counts are zero, and the cause is the reason."""
        counts = self.by(rule)
        return counts and replace(counts, cause=counts.cause or self.uncounted.cause)

    def shown_counts(self, rule: CountingRule) -> Counts:
        """The function's counts by the rule. If it has no verdict by the rule, its counts by *anywhere*."""
        return self.counts_by(rule) or self.counts_by(ANYWHERE) or self.uncounted

    @property
    def main_cause(self) -> str | None:
        """The main cause by the rule *anywhere*, otherwise by the rule *on device*. If no case of the function counts,
        the reason."""
        on_device = self.on_device
        return self.anywhere.cause or (on_device and on_device.cause) or self.not_counted_cause

    def columns(self) -> dict[str, Any]:
        """The values of this cell by column name, as one flat row. The row has columns for each counting rule."""
        counts = {column: getattr(self.by(rule), name, None) for column, (rule, name) in _COUNT_COLUMNS.items()}
        return {name: getattr(self, name) for name in _PLAIN_COLUMNS} | counts

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that must be shown next to the verdict and the counts."""
        return (
            *([f"fails {self.fails_on}"] if self.fails_on else []),
            *([f"{plural(self.fell_back, 'case')} fell back to the host"] if self.fell_back else []),
            *([f"{plural(self.accepted, 'case')} silently accepted"] if self.accepted else []),
            *([f"{plural(self.unproven, 'case')} passed with unknown placement"] if self.unproven else []),
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
    """The number of outcomes in the stored matrix, and the time of its last refresh. A cancelled job counts as an
    outcome."""

    outcomes: int
    of: int
    """The number of outcomes that exist now."""
    at: datetime | None
    """The time of the last refresh; None if there was none."""
    current: bool
    """Whether no outcome, cause or definition of a column has changed since the last refresh."""


class Module(BaseModel):
    """A module of the matrix. Its functions are consecutive rows."""

    framework: str
    name: str
    functions: int
    first: int
    """The number of rows before the module's first row."""


class MatrixRow(BaseModel):
    framework: str
    module: str
    function: str
    host_only: bool
    cells: dict[int, Cell]
    """Cells by target id. A target without an outcome of the function has no cell."""


class MatrixPage(BaseModel):
    """Some rows of a campaign's matrix."""

    campaign_id: int
    name: str
    suite: str
    sample: str | None = None
    """The name of the sample; null if the campaign's functions are not a sample."""
    state: str
    rule: str
    """The counting rule that the query uses."""
    query: str
    freshness: Freshness
    targets: list[Target]
    modules: list[Module]
    """The modules of all rows that match the query."""
    found: int
    functions: int
    """The number of functions with outcomes in the campaign."""
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
    """A digest of everything that decides the results of the function's cases. Cells with equal digests can be
    compared, even across revisions of the suite. If it is null (the runner gives no digests), only cells of the same
    revision can be compared."""
    simulated: bool
    sentences: list[str]
    changed: bool
    """Whether the verdict differs from the previous cell in time with the same device, hardware, suite and cases."""


class History(BaseModel):
    """One function over campaigns and versions of its framework, newest campaign first."""

    framework: str
    function: str
    cells: list[HistoryCell]


class PortRate(BaseModel):
    """The share of functions that pass every case, among the functions with a case that counts."""

    count: int
    n: int
    percent: float | None
    low: float | None
    """The lower bound of the 95 % interval, in percent. `high` is the upper bound. Both are null if there are no
    functions."""
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
    """The rates of one part of a sample on one target."""

    target_id: int
    target: str
    part: str
    """The part: ``all``, or the group from which its functions were drawn."""
    drawn: int
    charted: int
    """The number of functions for which the suite has cases. The rates do not include other functions."""
    ports: PortRate
    """The rate that counts a fallback to the host as passing."""
    ports_on_device: PortRate


class CampaignSample(BaseModel):
    """The sample that a campaign's functions form, and the rates at which they port."""

    campaign_id: int
    suite: str
    sample: ChartedSample
    not_charted: list[str]
    rates: list[SampleRate]
