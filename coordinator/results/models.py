"""The matrix and a function's history as REST, pages and comparisons have them."""

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
"""The columns of a cell in a line: the counts of each rule, such as ``verdict_on_device``, after the other figures."""


class FunctionKey(NamedTuple):
    """A row of the matrix."""

    framework: str
    module: str
    function: str


def is_rated(anywhere: Counts, of_another_device: int) -> bool:
    """Whether a function with these counts is in any rate of its target: not if no case counted, nor if all that did
    failed because they need another device, which is no evidence of a port."""
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
        """The kinds of input on which it fails, where it does so in part: ``only on empty input``."""
        return failing_inputs(self.failed_inputs or (), self.passed_inputs or ())

    @property
    def lowering_words(self) -> str | None:
        """The function's lowering in words, on a target that runs nothing."""
        return lowering_words(self)

    @property
    def uncounted(self) -> Counts:
        """Counts of zero, with the cause why no case of the function counts."""
        return replace(NOTHING_COUNTED, cause=None if self.anywhere.total else self.not_counted_cause)

    def counts_by(self, rule: CountingRule) -> Counts | None:
        """The rule's counts, with the cause of what is not counted where none of the function's cases is; None of a
        rule by which the function has no verdict."""
        counts = self.by(rule)
        return counts and replace(counts, cause=counts.cause or self.uncounted.cause)

    def shown_counts(self, rule: CountingRule) -> Counts:
        """The rule's counts; the counts by *anywhere* if the function has no verdict by the rule."""
        return self.counts_by(rule) or self.counts_by(ANYWHERE) or self.uncounted

    @property
    def main_cause(self) -> str | None:
        """The main cause by the rule anywhere, else on the device; for a function without a counted case, why none
        counts."""
        on_device = self.on_device
        return self.anywhere.cause or (on_device and on_device.cause) or self.not_counted_cause

    def columns(self) -> dict[str, Any]:
        """Every figure by the name of its column in a line that has the counts of all rules side by side."""
        counts = {column: getattr(self.by(rule), name, None) for column, (rule, name) in _COUNT_COLUMNS.items()}
        return {name: getattr(self, name) for name in _PLAIN_COLUMNS} | counts

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that must be shown with the verdict and the counts."""
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
    """From how many of the campaign's outcomes the matrix was made, and when; a cancelled job counts as one."""

    outcomes: int
    of: int
    """Outcomes that exist now."""
    at: datetime | None
    """None if it has not been made yet."""
    current: bool
    """Whether no outcome, cause or definition of a figure has changed since."""


class Module(BaseModel):
    """A module of the matrix: some adjacent rows."""

    framework: str
    name: str
    functions: int
    first: int
    """The number of rows before its first row."""


class MatrixRow(BaseModel):
    framework: str
    module: str
    function: str
    host_only: bool
    cells: dict[int, Cell]
    """Cells by target id. A target without an outcome of the function has none."""


class MatrixPage(BaseModel):
    """Some rows of a campaign's matrix."""

    campaign_id: int
    name: str
    suite: str
    sample: str | None = None
    """The name of the sample, if the functions are one."""
    state: str
    rule: str
    """The counting rule that the query is judged by."""
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
    """Digest of all that decides the results of the function's cases. Cells with equal digests are comparable, also
    under two revisions of the suite. If it is null (the runner gives no digests), only cells of one revision are."""
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
    """Functions that pass every case, of those with a case that counts."""

    count: int
    n: int
    percent: float | None
    low: float | None
    """With `high` the 95 % interval in percent; null without functions."""
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
    """``all``, or how the part was drawn."""
    drawn: int
    charted: int
    """Functions for which the suite has cases; the others are excluded from the rates."""
    ports: PortRate
    """The rate with a fallback to the host counted as passing."""
    ports_on_device: PortRate


class CampaignSample(BaseModel):
    """The sample that a campaign's functions are, and how much of it ports."""

    campaign_id: int
    suite: str
    sample: ChartedSample
    not_charted: list[str]
    rates: list[SampleRate]
