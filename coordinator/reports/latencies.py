"""The cost of moving to another device: the study's tables of latency. It does no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from coordinator.reference.models import Reference
from coordinator.reports.identity import Row, report_table
from coordinator.reports.table import Cell, Column, Missing, Table
from coordinator.results.ratios import AFTER, BEFORE, FunctionRatio, TargetRatios, published_ratios
from coordinator.results.report_data import ReportData
from coordinator.results.statistics import Rate, deciles, density, geometric_mean, logarithmic, median
from coordinator.targets.models import Target
from coordinator.targets.selectors import target_name

INTOLERABLE = 10.0
"""The ratio to the reference device from which the study calls a latency intolerable."""
SPEEDUP = 1.5
POINTS = 64
"""The number of points at which a density is computed."""
MARGIN = 3.0
"""A density is drawn from the least value divided by this factor to the greatest value times this factor."""
DENSITIES = ("figure-2", "figure-8", "figure-9", "figure-10")

_PAIR = (
    Column("source", "source"),
    Column("framework", "framework"),
    Column("base", "from"),
    Column("other", "to"),
)
_TARGET = (*_PAIR[:2], Column("target", "target"))
_LATENCIES = (
    Column("function", "function"),
    Column("base_ms", "from", "milliseconds", "ms"),
    Column("other_ms", "to", "milliseconds", "ms"),
)
_RATIO = Column("ratio", "times slower", "ratio")
_STUDY = (
    Column("study_gpu_ms", f"study's {BEFORE}", "milliseconds", "ms"),
    Column("study_tpu_ms", f"study's {AFTER}", "milliseconds", "ms"),
    Column("study_ratio", "study's times slower", "ratio"),
)


def extremes(data: ReportData, comparisons: Sequence[TargetRatios]) -> Table:
    """The study's Table 2: the two functions of each comparison that slowed down most, and the two that slowed down
    least."""
    rows = [
        _function_row(comparison, function)
        for comparison in comparisons
        for function in (*comparison.functions[:2], *comparison.functions[2:][-2:])
    ]
    title = "The greatest and least changes of latency"
    return _pairs_table(data, "extremes", title, (*_LATENCIES, _RATIO), rows, ("table-2",))


def latencies(data: ReportData, comparisons: Sequence[TargetRatios]) -> Table:
    """The study's Tables 5 to 7: every function of a framework, the largest slowdown first, next to the study's
    numbers."""
    own = [comparison for comparison in comparisons if comparison.targets]
    rows = [row for comparison in (own if data.targets else comparisons) for row in _ratio_rows(data, comparison)]
    target_ids = {target for comparison in own for target in comparison.targets}
    rows += [
        row for target in data.run_targets if target.id not in target_ids for row in _single_target_rows(data, target)
    ]
    columns = (*_LATENCIES, _RATIO, *(_STUDY if data.reference else ()))
    figures = ("table-5", "table-6", "table-7")
    return _pairs_table(data, "latencies", "Latency of every function", columns, rows, figures)


def faster(data: ReportData, comparisons: Sequence[TargetRatios]) -> Table:
    """The study's Figures 3 and 7: the shares of functions that are faster on the other device, and of those that are
    at least 1.5 times as fast."""
    rows: list[Row] = []
    for comparison in comparisons:
        ratios = [function.value for function in comparison.functions]
        shares = (
            _share(ratio < 1 for ratio in ratios),
            _share(ratio * SPEEDUP <= 1 for ratio in ratios),
            _share(ratio > 1 for ratio in ratios),
        )
        means = (geometric_mean(ratios), median(ratios)) if ratios else (Missing.not_measured,) * 2
        rows.append((*_pair(comparison), *shares, *means))
    notes: tuple[str, ...] = ()
    if data.reference:
        rows += _speedups(data.reference, data.frameworks)
        notes = (
            "In the study, Figures 3 and 7 are pictures. For newer hardware, the study gives some shares, without n.",
        )
    columns = (
        Column("faster", "faster", "rate"),
        Column("faster_by_half", f"at least {SPEEDUP:g} times faster", "rate"),
        Column("slower", "slower", "rate"),
        Column("geometric_mean", "times slower: geometric mean", "ratio"),
        Column("median", "times slower: median", "ratio"),
    )
    title = "Functions that are faster elsewhere"
    return _pairs_table(data, "faster", title, columns, rows, ("figure-3", "figure-7"), notes)


def intolerable(data: ReportData, comparisons: Sequence[TargetRatios], factor: float = INTOLERABLE) -> Table:
    """The share of functions that run, but more than ``factor`` times slower. This is the study's third kind of
    failure."""
    rows = [
        (*_pair(comparison), _share(function.value > factor for function in comparison.functions))
        for comparison in comparisons
    ]
    columns = [Column("intolerable", f"more than {factor:g} times slower", "rate")]
    return _pairs_table(data, "intolerable", "Intolerable latency", columns, rows, ("intolerable-latency",))


def intolerable_functions(data: ReportData, comparisons: Sequence[TargetRatios], factor: float = INTOLERABLE) -> Table:
    """The intolerably slow functions by name."""
    rows = [
        _function_row(comparison, function)
        for comparison in comparisons
        for function in comparison.functions
        if function.value > factor
    ]
    title = f"Functions more than {factor:g} times slower"
    figures = ("intolerable-latency",)
    return _pairs_table(data, "intolerable_functions", title, (*_LATENCIES, _RATIO), rows, figures)


def scatter(data: ReportData, comparisons: Sequence[TargetRatios]) -> Table:
    """The study's Figure 1: one point per function, for two logarithmic axes."""
    rows = [
        _function_row(comparison, function)[:-1]
        for comparison in comparisons
        for function in sorted(comparison.functions, key=lambda ratio: ratio.function)
    ]
    return _pairs_table(data, "scatter", "Latency here against latency there", _LATENCIES, rows, ("figure-1",))


def densities(data: ReportData) -> Table:
    """The study's Figures 2 and 8 to 10: the density of the latencies of a target's functions along a logarithmic
    axis."""
    rows: list[Row] = []
    notes = []
    for (source, framework, target), values in _series(data):
        curve = density(values, logarithmic(min(values) / MARGIN, max(values) * MARGIN, POINTS)) if values else None
        if curve is None:
            notes.append(f"{target} ({source}) has too few different latencies for a density: {len(values)}.")
            continue
        for place, height in zip(curve.places, curve.heights, strict=True):
            rows.append((source, framework, target, place, height, curve.n))
    columns = (
        *_TARGET,
        Column("milliseconds", "latency", "milliseconds", "ms"),
        Column("density", "density per decade", "density"),
        Column("functions", "functions", "number"),
    )
    return report_table(data, "latencies", "densities", "Densities of latency", columns, rows, DENSITIES, notes)


def latency_deciles(data: ReportData) -> Table:
    """The distribution of the latencies of a target's functions as nine deciles."""
    rows: list[Row] = [
        (*target, *(deciles(values) if values else (Missing.not_measured,) * 9), len(values))
        for target, values in _series(data)
    ]
    columns = (
        *_TARGET,
        *(Column(f"p{percent}", f"{percent} % below", "milliseconds", "ms") for percent in range(10, 100, 10)),
        Column("functions", "functions", "number"),
    )
    return report_table(data, "latencies", "latency_deciles", "Deciles of latency", columns, rows, DENSITIES)


def _pairs_table(
    data: ReportData,
    id: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    remade_from: tuple[str, ...],
    notes: Sequence[str] = (),
) -> Table:
    """Build the table, with a note for each framework that has no targets to compare."""
    alone = [
        f"Only one target of {framework} was charted, so its latencies are compared with no other target."
        for framework in data.frameworks
        if sum(target.framework == framework and target.is_compared for target in data.targets) == 1
    ]
    return report_table(data, "latencies", id, title, (*_PAIR, *columns), rows, remade_from, (*notes, *alone))


def _pair(comparison: TargetRatios) -> Row:
    return (comparison.source, comparison.framework, comparison.base, comparison.other)


def _function_row(comparison: TargetRatios, function: FunctionRatio) -> Row:
    return (*_pair(comparison), function.function, function.base_ms, function.other_ms, function.ratio)


def _share(holds: Iterator[bool]) -> Cell:
    values = list(holds)
    return Rate(sum(values), len(values)) if values else Missing.not_measured


def _ratio_rows(data: ReportData, comparison: TargetRatios) -> Iterator[Row]:
    """Rows for all charted functions, including those that cannot be compared."""
    study = _study_figures(data.reference, comparison.framework)
    for ratio in comparison.functions:
        yield (*_function_row(comparison, ratio), *study(ratio.function))
    functions = {ratio.function for ratio in comparison.functions}
    others = {row.function for row in data.verdicts if row.target_id in comparison.targets} - functions
    host_only = {row.function for row in data.latencies if row.host_only}
    for function in sorted(others):
        why = Missing.host_only if function in host_only else Missing.not_measured
        yield (*_pair(comparison), function, why, why, why, *study(function))


def _single_target_rows(data: ReportData, target: Target) -> Iterator[Row]:
    """Rows for a target that is not compared with another one. They contain only its own latencies."""
    study = _study_figures(data.reference, target.framework)
    latencies = data.medians[target.id]
    for function in sorted({row.function for row in data.by_target[target.id]}):
        milliseconds = latencies.get(function, Missing.not_measured)
        pair = (data.name, target.framework, data.labels[target.id], None)
        yield (*pair, function, milliseconds, None, None, *study(function))


def _study_figures(reference: Reference | None, framework: str) -> Callable[[str], Row]:
    """A function that returns the study's numbers for a function name: its latency on the GPU, on the TPU, and the
    ratio of both."""
    if reference is None:
        return lambda function: ()
    ratios = published_ratios(reference, framework).functions
    rows: dict[str, Row] = {ratio.function: (ratio.base_ms, ratio.other_ms, ratio.ratio) for ratio in ratios}
    return lambda function: rows.get(function, (Missing.not_published,) * 3)


def _speedups(reference: Reference, frameworks: Sequence[str]) -> Iterator[Row]:
    """Rows for newer hardware, from the study's text. The other values of the study's Figures 3 and 7 are only in a
    picture."""
    silent = Missing.not_published
    for speedup in reference.speedups:
        if speedup.framework in frameworks:
            share = speedup.functions_pct if speedup.factor == SPEEDUP else silent
            pair = (reference.name, speedup.framework, speedup.older, speedup.newer)
            yield (*pair, silent, share, silent, silent, silent)


def _series(data: ReportData) -> Iterator[tuple[tuple[str, str, str], list[float]]]:
    """The latencies of each target's functions, by source, framework and target."""
    for target in data.run_targets:
        values = list(data.medians[target.id].values())
        yield (data.name, target.framework, data.labels[target.id]), values
    if data.reference is None:
        return
    for place in data.published_targets():
        if place.device in (BEFORE, AFTER):
            values = [
                latency.milliseconds
                for latency in data.reference.latencies
                if (latency.framework, latency.device) == (place.framework, place.device) and latency.milliseconds
            ]
            yield (data.reference.name, place.framework, target_name(place)), values
