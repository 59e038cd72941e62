"""The study's tables of verdicts: how many functions port, and why the others do not. It does no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from coordinator.figures.counting import CLASS_RULES, SIDE_BY_SIDE, WITHOUT_HOST_WORK, CountingRule
from coordinator.figures.formats import verdict_words
from coordinator.reference.models import TOP, Reference
from coordinator.reports.identity import (
    IDENTITY,
    Row,
    identity,
    published_identity,
    report_table,
)
from coordinator.reports.table import Cell, Column, Missing, Table
from coordinator.results.report_data import FunctionVerdict, ReportData
from coordinator.results.statistics import Rate

VERDICTS = ("success", "partial", "complete")
FAILURES = ("partial", "complete")
DECILES = tuple(f"decile{percent}" for percent in range(10, 101, 10))
ALL = "all"
"""The group that contains all functions."""


def portability(data: ReportData) -> Table:
    """The study's Tables 1 and 3: verdicts of all functions."""
    rows: list[Row] = [
        (*target, *(_rate(tally, verdict) for verdict in VERDICTS), tally["unknown"])
        for target, _, tally in _tallies(data)
    ]
    for rate in data.reference.rates if data.reference else ():
        cells = (rate.pass_pct, rate.partial_pct, rate.complete_pct, Missing.not_published)
        rows += _published_rows(data, rate.framework, rate.device, cells)
    columns = (*_rates(*VERDICTS), Column("unknown", verdict_words("unknown"), "number", "functions"))
    title = "Portability: functions by verdict"
    return _table(data, "portability", title, columns, rows, ("table-1", "table-3"))


def counts(data: ReportData) -> Table:
    """The study's Table 8, with the failure rates that the study's text derives from it."""
    words = (*FAILURES, "success")
    rows: list[Row] = [
        (*target, *(tally[word] for word in words), _total(tally), _rate(tally, *FAILURES))
        for target, _, tally in _tallies(data)
    ]
    for count in data.reference.counts if data.reference else ():
        cells = (count.partial, count.complete, count.success, count.total, Rate(count.failed, count.total))
        rows += _published_rows(data, count.framework, count.device, cells)
    columns = (
        *(Column(word, verdict_words(word), "number", "functions") for word in (*words, "total")),
        Column("failed", "fails some or all", "rate"),
    )
    return _table(data, "counts", "Portability: counts of functions", columns, rows, ("table-8",))


def classes(data: ReportData) -> Table:
    """The functions that pass every case, in all and separately for forward cases, for gradients, and for cases in a
    16-bit type."""
    rules = (*SIDE_BY_SIDE, *CLASS_RULES)
    rows: list[Row] = []
    for target in data.run_targets:
        verdicts = [row for row in data.by_target[target.id] if row.is_rated]
        words = [[row.verdict_by(rule) for row in verdicts] for rule in rules]
        tallies = [Counter(word for word in of_rule if word is not None) for of_rule in words]
        rates = (_rate(tally, "success") for tally in tallies)
        rows.append((data.name, data.labels[target.id], target.hardware, len(verdicts), *rates))
    columns = (
        *IDENTITY[:3],
        Column("functions", "functions", "number"),
        *(Column(rule.name, f"pass {rule.label}", "rate") for rule in rules),
    )
    notes = [f"{rule.label}: {rule.sentence}." for rule in rules]
    if data.reference:
        notes.append(f"{data.reference.name} did not publish this.")
    title = "Functions that pass every case, by class of case"
    return report_table(data, "verdicts", "classes", title, columns, rows, (), notes)


def top20(data: ReportData, reference: Reference) -> Table:
    """The study's Table 4: the 20 most used functions."""
    rows: list[Row] = [
        (*target, _rate(top, *FAILURES), _rate(everything, *FAILURES))
        for (target, _, top), (_, _, everything) in zip(_tallies(data, (TOP,), reference), _tallies(data), strict=True)
    ]
    failure_rates = {(rate.framework, rate.device, rate.stratum): rate.failed_pct for rate in reference.failures}
    for target in data.published_targets():
        cells = (failure_rates.get((target.framework, target.device, stratum)) for stratum in (TOP, ALL))
        shares = (Missing.not_published if cell is None else cell for cell in cells)
        rows.append((*published_identity(reference, target), *shares))
    columns = (Column("top20_failed", "failed of the top 20", "rate"), Column("all_failed", "failed of all", "rate"))
    title = "Failures among the 20 most used functions and among all"
    return _table(data, "top20", title, columns, rows, ("table-4",), _unknown_strata(data, reference))


def failures_in_top20(data: ReportData, reference: Reference) -> Table:
    """The study's Figure 5: failures among the 20 most used functions."""
    rows = [
        (*target, *(_rate(tally, verdict) for verdict in FAILURES))
        for target, _, tally in _tallies(data, (TOP,), reference)
    ]
    rows += _not_published(data, *FAILURES)
    notes = (_no_numbers(5), *_unknown_strata(data, reference))
    title = "Functions that fail some or all cases, among the 20 most used"
    return _table(data, "failures_in_top20", title, _rates(*FAILURES), rows, ("figure-5",), notes)


def failures_by_decile(data: ReportData, reference: Reference) -> Table:
    """The study's Figure 4: failures by decile. The deciles are those of the study's sample, by how often functions are
    used."""
    rows: list[Row] = [
        (*target, decile, *(_rate(tally, verdict) for verdict in FAILURES))
        for target, decile, tally in _tallies(data, DECILES, reference)
    ]
    rows += _not_published(data, *FAILURES, every="every decile")
    columns = (Column("decile", "decile of use (decile10: rarest)"), *_rates(*FAILURES))
    notes = (_no_numbers(4), *_unknown_strata(data, reference))
    title = "Functions that fail some or all cases, by how often they are used"
    return _table(data, "failures_by_decile", title, columns, rows, ("figure-4",), notes)


def causes(data: ReportData) -> Table:
    """The study's Figure 6: the failed functions by their main cause."""
    rows: list[Row] = []
    for target in data.run_targets:
        for rule in SIDE_BY_SIDE:
            failures = [row for row in data.by_target[target.id] if row.verdict_by(rule) in FAILURES]
            tally = Counter(_cause(failure, rule) for failure in failures)
            # Causes with equal counts are ordered by name, as in the views.
            for cause, functions in sorted(tally.items(), key=lambda counted: (-counted[1], counted[0])):
                rows.append((*identity(data, target, rule.counted_by), cause, Rate(functions, len(failures))))
    rows += _not_published(data, "functions", every="every cause")
    columns = (Column("cause", "cause"), Column("functions", "of the functions that failed", "rate"))
    notes = ["A function's cause is the most frequent one of its failed cases."]
    if data.reference:
        notes.append(_no_numbers(6))
    return _table(data, "causes", "Why functions failed", columns, rows, ("figure-6",), notes)


def _table(
    data: ReportData,
    id: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    remade_from: tuple[str, ...],
    notes: Sequence[str] = (),
) -> Table:
    """Build a table in which comparable targets are adjacent: ordered by framework, then by device class."""
    together = sorted(rows, key=lambda row: (str(row[1]).partition("@")[0], str(row[3])))
    return report_table(data, "verdicts", id, title, (*IDENTITY, *columns), together, remade_from, notes)


def _rates(*verdicts: str) -> tuple[Column, ...]:
    return tuple(Column(verdict, verdict_words(verdict), "rate") for verdict in verdicts)


def _tallies(
    data: ReportData,
    strata: Sequence[str] = (ALL,),
    reference: Reference | None = None,
) -> Iterator[tuple[Row, str, Counter[str]]]:
    """The numbers of functions by verdict, for each target, way of counting, and group of the study's sample.

    The ways of counting are: anywhere, on the device, and without host work. Functions that never use a device have no
    verdict on the device.
    """
    strata_by_function = reference.strata() if reference else {}
    for target in data.run_targets:
        apart = any(row.host_work for row in data.by_target[target.id])
        for rule in (*SIDE_BY_SIDE, *([WITHOUT_HOST_WORK] if apart else [])):
            for stratum in strata:
                verdicts = (
                    row.verdict_by(rule)
                    for row in data.by_target[target.id]
                    if (row.is_rated or row.anywhere.verdict == "unknown")
                    and (stratum == ALL or stratum in strata_by_function.get((target.framework, row.function), ()))
                )
                tally = Counter(verdict for verdict in verdicts if verdict is not None)
                yield identity(data, target, rule.counted_by), stratum, tally


def _cause(row: FunctionVerdict, rule: CountingRule) -> str:
    counts = row.by(rule)
    return (counts and counts.cause) or "unknown"


def _total(tally: Counter[str]) -> int:
    return sum(tally[verdict] for verdict in VERDICTS)


def _rate(tally: Counter[str], *verdicts: str) -> Cell:
    total = _total(tally)
    return Rate(sum(tally[verdict] for verdict in verdicts), total) if total else Missing.none_counted


def _published_rows(data: ReportData, framework: str, device: str, cells: Row) -> list[Row]:
    """The row that the study published for a target. Empty if the report does not have the target's framework."""
    if data.reference is None or framework not in data.frameworks:
        return []
    return [(*published_identity(data.reference, data.reference.target(framework, device)), *cells)]


def _not_published(data: ReportData, *columns: str, every: str | None = None) -> list[Row]:
    """Rows for those of the study's targets that have no published numbers in these columns."""
    if data.reference is None:
        return []
    cells: Row = (*((every,) if every else ()), *(Missing.not_published for _ in columns))
    return [(*published_identity(data.reference, target), *cells) for target in data.published_targets()]


def _no_numbers(figure: int) -> str:
    return f"Figure {figure} is a picture in the study, without numbers."


def _unknown_strata(data: ReportData, reference: Reference) -> tuple[str, ...]:
    frameworks = {target.id: target.framework for target in data.targets}
    others = {(frameworks[row.target_id], row.function) for row in data.verdicts} - reference.strata().keys()
    if not others:
        return ()
    return (
        f"Only the study's sample says how often functions are used: {len(others)} other functions are in no decile.",
    )
