"""Which functions port, and why others do not: the study's tables and figures of verdicts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from coordinator.reference.models import TOP, Reference
from coordinator.reports.identity import (
    COUNTED_BY,
    COUNTING_RULE,
    IDENTITY,
    aligned,
    identity,
    published_identity,
    tabled,
)
from coordinator.reports.table import Cell, Column, Missing, Table
from coordinator.results.report_data import FunctionVerdict, ReportData
from coordinator.results.statistics import Rate
from coordinator.targets.models import Target

Row = tuple[Cell, ...]
DECILES = tuple(f"decile{percent}" for percent in range(10, 101, 10))
NO_NUMBERS = "{} is a picture in the study, without numbers."


def portability(charted: ReportData) -> Table:
    """Tables 1 and 3."""
    rows = [
        (*who, *(_rate(counted, word) for word in ("success", "partial", "complete")), counted["unknown"])
        for who, counted in _counted(charted)
    ]
    if charted.reference:
        for each in charted.reference.rates:
            if each.framework in charted.frameworks:
                where = charted.reference.target(each.framework, each.device)
                printed = (each.pass_pct, each.partial_pct, each.complete_pct)
                rows.append((*published_identity(charted.reference, where), *printed, Missing.not_published))
    columns = (
        *IDENTITY,
        *(Column(word, word, "rate") for word in ("success", "partial", "complete")),
        Column("unknown", "unknown", "number", "functions"),
    )
    return _table(charted, "portability", "Portability: functions by verdict", columns, rows, ("table-1", "table-3"))


def counts(charted: ReportData) -> Table:
    """Table 8, and the failure rates that the study's text draws from it."""
    words = ("partial", "complete", "success")
    rows: list[Row] = [
        (*who, *(counted[word] for word in words), _total(counted), _failed(counted))
        for who, counted in _counted(charted)
    ]
    if charted.reference:
        for each in charted.reference.counts:
            if each.framework in charted.frameworks:
                who = published_identity(charted.reference, charted.reference.target(each.framework, each.device))
                printed = (each.partial, each.complete, each.success, each.total)
                rows.append((*who, *printed, Rate(each.failed, each.total)))
    columns = (
        *IDENTITY,
        *(Column(word, word, "number", "functions") for word in (*words, "total")),
        Column("failed", "failed in part or completely", "rate"),
    )
    return _table(charted, "counts", "Portability: counts of functions", columns, rows, ("table-8",))


def top20(charted: ReportData, reference: Reference) -> Table:
    """Table 4."""
    strata = reference.strata()
    rows: list[Row] = []
    for target, counted_by in _ways(charted):
        who = identity(charted, target, counted_by)
        top = _tally(_drawn(charted, target, strata, TOP), counted_by)
        everything = _tally(charted.by_target[target.id], counted_by)
        rows.append((*who, _failed(top), _failed(everything)))
    for published in charted.published():
        printed = {
            each.stratum: each.failed_pct
            for each in reference.failures
            if (each.framework, each.device) == (published.framework, published.device)
        }
        who = published_identity(reference, published)
        rows.append((*who, *(printed.get(stratum, Missing.not_published) for stratum in (TOP, "all"))))
    columns = (
        *IDENTITY,
        Column("top20_failed", "failed of the top 20", "rate"),
        Column("all_failed", "failed of all", "rate"),
    )
    title = "Failures among the 20 most used functions and among all"
    return _table(charted, "top20", title, columns, rows, ("table-4",), _unknown_strata(charted, strata))


def failures_in_top20(charted: ReportData, reference: Reference) -> Table:
    """Figure 5."""
    strata = reference.strata()
    rows: list[Row] = []
    for target, counted_by in _ways(charted):
        tally = _tally(_drawn(charted, target, strata, TOP), counted_by)
        rows.append((*identity(charted, target, counted_by), _rate(tally, "partial"), _rate(tally, "complete")))
    rows += _not_published(charted, 2)
    columns = (*IDENTITY, *_FAILURES)
    notes = (NO_NUMBERS.format("Figure 5"), *_unknown_strata(charted, strata))
    title = "Partial and complete failures among the 20 most used functions"
    return _table(charted, "failures_in_top20", title, columns, rows, ("figure-5",), notes)


def failures_by_decile(charted: ReportData, reference: Reference) -> Table:
    """Figure 4. Deciles are those of the study's sample: how often functions are used."""
    strata = reference.strata()
    rows: list[Row] = []
    for target, counted_by in _ways(charted):
        for decile in DECILES:
            tally = _tally(_drawn(charted, target, strata, decile), counted_by)
            who = identity(charted, target, counted_by)
            rows.append((*who, decile, _rate(tally, "partial"), _rate(tally, "complete")))
    rows += [(*row[: len(IDENTITY)], "every decile", *row[len(IDENTITY) :]) for row in _not_published(charted, 2)]
    columns = (*IDENTITY, Column("decile", "decile of use (decile10: rarest)"), *_FAILURES)
    notes = (NO_NUMBERS.format("Figure 4"), *_unknown_strata(charted, strata))
    title = "Partial and complete failures by how often functions are used"
    return _table(charted, "failures_by_decile", title, columns, rows, ("figure-4",), notes)


def causes(charted: ReportData) -> Table:
    """Figure 6: of the functions that failed, how many mostly for which cause."""
    rows: list[Row] = []
    for target, counted_by in _ways(charted):
        found = Counter(_cause(each, counted_by) for each in _failing(charted.by_target[target.id], counted_by))
        failed = sum(found.values())
        # The alphabet decides between equals, as in the views.
        for cause, functions in sorted(found.items(), key=lambda each: (-each[1], each[0])):
            rows.append((*identity(charted, target, counted_by), cause, Rate(functions, failed)))
    rows += [(*row[: len(IDENTITY)], "every cause", *row[len(IDENTITY) :]) for row in _not_published(charted, 1)]
    columns = (*IDENTITY, Column("cause", "cause"), Column("functions", "of the functions that failed", "rate"))
    notes = (
        "A function's cause is the most frequent one of its failed cases.",
        *((NO_NUMBERS.format("Figure 6"),) if charted.reference else ()),
    )
    return _table(charted, "causes", "Why functions failed", columns, rows, ("figure-6",), notes)


_FAILURES = (Column("partial", "partial", "rate"), Column("complete", "complete", "rate"))


def _table(
    charted: ReportData,
    id: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    remade_from: tuple[str, ...],
    notes: Sequence[str] = (),
) -> Table:
    query = charted.queries.verdicts
    return tabled(
        charted,
        id,
        title,
        columns,
        aligned(rows),
        rule=COUNTING_RULE,
        query=query,
        remade_from=remade_from,
        notes=notes,
    )


def _ways(charted: ReportData) -> Iterator[tuple[Target, str]]:
    """Every target, counted in both ways."""
    for target in charted.targets:
        for counted_by in COUNTED_BY:
            yield target, counted_by


def _counted(charted: ReportData) -> Iterator[tuple[Row, Counter[str]]]:
    for target, counted_by in _ways(charted):
        yield identity(charted, target, counted_by), _tally(charted.by_target[target.id], counted_by)


def _tally(verdicts: Sequence[FunctionVerdict], counted_by: str) -> Counter[str]:
    """Functions by verdict; those that never touch a device have none on it."""
    return Counter(word for each in verdicts if (word := _word(each, counted_by)) is not None)


def _word(verdict: FunctionVerdict, counted_by: str) -> str | None:
    return verdict.verdict if counted_by == "verdict" else verdict.verdict_on_device


def _cause(verdict: FunctionVerdict, counted_by: str) -> str:
    return (verdict.cause if counted_by == "verdict" else verdict.cause_on_device) or "unknown"


def _failing(verdicts: Sequence[FunctionVerdict], counted_by: str) -> list[FunctionVerdict]:
    return [each for each in verdicts if _word(each, counted_by) in ("partial", "complete")]


def _total(tally: Counter[str]) -> int:
    return tally["success"] + tally["partial"] + tally["complete"]


def _rate(tally: Counter[str], word: str) -> Cell:
    return Rate(tally[word], _total(tally)) if _total(tally) else Missing.none_counted


def _failed(tally: Counter[str]) -> Cell:
    return Rate(tally["partial"] + tally["complete"], _total(tally)) if _total(tally) else Missing.none_counted


Strata = dict[tuple[str, str], frozenset[str]]


def _drawn(charted: ReportData, target: Target, strata: Strata, stratum: str) -> list[FunctionVerdict]:
    return [
        each
        for each in charted.by_target[target.id]
        if stratum in strata.get((target.framework, each.function), frozenset())
    ]


def _unknown_strata(charted: ReportData, strata: Strata) -> tuple[str, ...]:
    frameworks = {each.id: each.framework for each in charted.targets}
    others = {
        (frameworks[each.target_id], each.function)
        for each in charted.verdicts
        if (frameworks[each.target_id], each.function) not in strata
    }
    if not others:
        return ()
    return (f"How often they are used is known of the study's sample only: {len(others)} others are in no stratum.",)


def _not_published(charted: ReportData, cells: int) -> list[Row]:
    if charted.reference is None:
        return []
    missing: Row = (Missing.not_published,) * cells
    return [(*published_identity(charted.reference, each), *missing) for each in charted.published()]
