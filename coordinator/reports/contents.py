"""The tables and figures of a campaign, grouped in chapters. It does no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from coordinator.errors import NotFoundError
from coordinator.reports import (
    latencies,
    lowerings,
    placements,
    portability,
    references,
    sample_rates,
    surface_coverage,
)
from coordinator.reports.charts.figure import Figure
from coordinator.reports.options import ReportOptions
from coordinator.reports.table import Table
from coordinator.results.judges import judge_counts
from coordinator.results.ratios import TargetRatios, comparisons
from coordinator.results.report_data import ReportData

Part = TypeVar("Part", Table, Figure)


@dataclass(frozen=True)
class Chapter:
    id: str
    title: str
    question: str
    figure_ids: tuple[str, ...]
    table_ids: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the chapter's figures and tables, without repetition."""
        return tuple(dict.fromkeys(note for table in self.tables for note in table.notes))

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(table.counting_rule for table in self.tables))


@dataclass(frozen=True)
class ReportContents:
    data: ReportData
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    comparisons: tuple[TargetRatios, ...]

    def table(self, id: str) -> Table:
        return _find("table", self.tables, id)

    def figure(self, id: str) -> Figure:
        return _find("figure", self.figures, id)

    @property
    def chapters(self) -> tuple[Chapter, ...]:
        """The chapters that have at least one figure or table."""
        figures = {figure.id: figure for figure in self.figures}
        tables = {table.id: table for table in self.tables}
        chapters = (
            replace(
                chapter,
                figures=tuple(figures[id] for id in chapter.figure_ids if id in figures),
                tables=tuple(tables[id] for id in chapter.table_ids if id in tables),
            )
            for chapter in CHAPTERS
        )
        return tuple(chapter for chapter in chapters if chapter.figures or chapter.tables)


def contents_of(data: ReportData, options: ReportOptions, *, with_figures: bool = True) -> ReportContents:
    ratios = comparisons(data, options.reference_device or None)
    tables = _tables(data, ratios, options.tolerable)
    figures = _figures(data, {table.id: table for table in tables}, options.tolerable) if with_figures else []
    return ReportContents(data, tuple(tables), tuple(figures), tuple(ratios))


def _tables(data: ReportData, ratios: Sequence[TargetRatios], tolerable: float) -> list[Table]:
    """Return the tables in the order of the report."""
    tables = [portability.portability(data), portability.counts(data), portability.classes(data)]
    if data.reference is not None:
        # Only the study's sample says how often a function is used.
        tables += [
            portability.top20(data, data.reference),
            portability.failures_in_top20(data, data.reference),
            portability.failures_by_decile(data, data.reference),
        ]
    return [
        *tables,
        *([references.judges(data)] if judge_counts(data.judged) else []),
        *([sample_rates.sample(data, data.sample)] if data.sample is not None else []),
        *([surface_coverage.coverage(data)] if data.coverages else []),
        *([lowerings.lowerings(data)] if data.lowered_targets else []),
        portability.causes(data),
        placements.placements(data),
        latencies.extremes(data, ratios),
        latencies.latencies(data, ratios),
        latencies.faster(data, ratios),
        latencies.intolerable(data, ratios, tolerable),
        latencies.intolerable_functions(data, ratios, tolerable),
        latencies.scatter(data, ratios),
        latencies.densities(data),
        latencies.latency_deciles(data),
        placements.first_calls(data),
    ]


def _figures(data: ReportData, tables: Mapping[str, Table], tolerable: float) -> list[Figure]:
    """Return the figures in the order of the report. Figures of the study's sample need a reference."""
    # Imported here, because Altair takes a third of a second to import, and no command and no start of the coordinator
    # should wait for it.
    from coordinator.reports.charts import cause_bars, density_lines, interval_dots, latency_scatter, verdict_bars

    of_the_sample = (verdict_bars.failures_by_decile, verdict_bars.failures_in_top20)
    return [
        verdict_bars.portability(data, tables["portability"]),
        *(draw(data, tables[draw.__name__]) for draw in of_the_sample if draw.__name__ in tables),
        cause_bars.causes(data, tables["causes"]),
        verdict_bars.placement(data, tables["placement"]),
        latency_scatter.scatter(data, tables["scatter"], tolerable),
        interval_dots.slowdown(data, tables["faster"]),
        interval_dots.faster(data, tables["faster"]),
        interval_dots.intolerable(data, tables["intolerable"], tolerable),
        density_lines.densities(data, tables["densities"]),
        latency_scatter.first_calls(data, tables["first_calls"]),
    ]


def _find(kind: str, parts: Sequence[Part], id: str) -> Part:
    match = next((part for part in parts if part.id == id), None)
    if match is None:
        raise NotFoundError(f"there is no {kind} {id!r}; choose one of: {', '.join(part.id for part in parts)}")
    return match


CHAPTERS = (
    Chapter(
        "ports",
        "What ports",
        "Which functions run on each target with right results?",
        ("portability",),
        ("portability", "counts", "classes"),
    ),
    Chapter(
        "use",
        "What is used most",
        "Do failures hit functions that many people use, or rare ones?",
        ("failures_by_decile", "failures_in_top20"),
        ("top20", "failures_by_decile", "failures_in_top20"),
    ),
    Chapter("sample", "The sample", "How many functions of the sample port?", (), ("sample",)),
    Chapter(
        "judges",
        "Which references judged",
        "How many functions were judged by a reference that is independent of them?",
        (),
        ("judges",),
    ),
    Chapter(
        "coverage",
        "How much of the framework this is",
        "What share of the framework's public functions, and of their uses in programs, was charted?",
        (),
        ("coverage",),
    ),
    Chapter(
        "lowers",
        "What lowers, without the device",
        "Which functions have no lowering for the target's platform?",
        (),
        ("lowerings",),
    ),
    Chapter("why", "Why functions fail", "What would have to be fixed?", ("causes",), ("causes",)),
    Chapter(
        "where",
        "What really ran on the device",
        "Did the passing cases run on the device, or silently on the host?",
        ("placement",),
        ("placement",),
    ),
    Chapter(
        "cost",
        "What it costs",
        "How much slower is a call on the other device?",
        ("scatter", "slowdown", "faster"),
        ("extremes", "faster", "latencies", "scatter"),
    ),
    Chapter(
        "intolerable",
        "What is intolerably slow",
        "Which functions run, but too slowly to be useful?",
        ("intolerable",),
        ("intolerable", "intolerable_functions"),
    ),
    Chapter(
        "spread",
        "Latency distribution",
        "What is a usual latency on each target?",
        ("densities",),
        ("latency_deciles", "densities"),
    ),
    Chapter("first", "First calls", "How much of a first call is compilation?", ("first_calls",), ("first_calls",)),
)
"""The chapters. Each figure and each table belongs to one chapter."""
