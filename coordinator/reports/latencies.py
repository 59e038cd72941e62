"""What moving to another device costs: the study's tables and figures of latency. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coordinator.reference.models import Reference
from coordinator.reports.identity import tabled
from coordinator.reports.table import Cell, Column, Missing, Table
from coordinator.results.ratios import AFTER, BEFORE, TargetRatios, by_function, published
from coordinator.results.report_data import MEASURES, ReportData
from coordinator.results.statistics import Rate, deciles, density, geometric_mean, logarithmic, median
from coordinator.targets.models import Target
from coordinator.targets.selectors import spelled

Row = tuple[Cell, ...]
INTOLERABLE = 10.0
"""Times slower than on the reference device, from which the study calls a latency intolerable."""
SPEEDUP = 1.5
POINTS = 64
"""Of a density."""
MARGIN = 3.0
"""How many times past the least and the greatest value a density is drawn."""

_WHO = (Column("source", "source"), Column("framework", "framework"))
_TWO = (*_WHO, Column("base", "from"), Column("other", "to"))
_BOTH = (
    Column("base_ms", "from", "milliseconds", "ms"),
    Column("other_ms", "to", "milliseconds", "ms"),
    Column("ratio", "times slower", "ratio"),
)


def extremes(charted: ReportData, comparisons: Sequence[TargetRatios]) -> Table:
    """Table 2: of each comparison the two functions that slowed down most, and the two that did least."""
    rows = [
        (*_who(each), one.function, one.base_ms, one.other_ms, one.ratio)
        for each in comparisons
        for one in (*each.functions[:2], *each.functions[2:][-2:])
    ]
    columns = (*_TWO, Column("function", "function"), *_BOTH)
    return _table(charted, "extremes", "The greatest and least changes of latency", columns, rows, ("table-2",))


def latencies(charted: ReportData, comparisons: Sequence[TargetRatios]) -> Table:
    """Tables 5 to 7: every function of a framework, the slowest to move first, beside the study's figures of it."""
    own = [each for each in comparisons if each.targets]
    rows = [row for each in (own if charted.targets else comparisons) for row in _latencies(charted, each)]
    compared = {target for each in own for target in each.targets}
    rows += [row for each in charted.targets if each.id not in compared for row in _uncompared(charted, each)]
    columns = (
        *_TWO,
        Column("function", "function"),
        *_BOTH,
        *(
            (
                Column("study_gpu_ms", f"study's {BEFORE}", "milliseconds", "ms"),
                Column("study_tpu_ms", f"study's {AFTER}", "milliseconds", "ms"),
                Column("study_ratio", "study's times slower", "ratio"),
            )
            if charted.reference
            else ()
        ),
    )
    figures = ("table-5", "table-6", "table-7")
    return _table(charted, "latencies", "Latency of every function", columns, rows, figures)


def faster(charted: ReportData, comparisons: Sequence[TargetRatios]) -> Table:
    """Figures 3 and 7: the share of functions that are faster there, also by 1.5 times."""
    rows: list[Row] = []
    for each in comparisons:
        ratios, n = [one.value for one in each.functions], len(each.functions)
        shares = (
            _share(sum(ratio < 1 for ratio in ratios), n),
            _share(sum(ratio * SPEEDUP <= 1 for ratio in ratios), n),
            _share(sum(ratio > 1 for ratio in ratios), n),
        )
        means = (geometric_mean(ratios), median(ratios)) if ratios else (Missing.not_measured,) * 2
        rows.append((*_who(each), *shares, *means))
    if charted.reference:
        rows += _speedups(charted.reference, charted.frameworks)
    columns = (
        *_TWO,
        Column("faster", "faster", "rate"),
        Column("faster_by_half", f"at least {SPEEDUP:g} times faster", "rate"),
        Column("slower", "slower", "rate"),
        Column("geometric_mean", "times slower: geometric mean", "ratio"),
        Column("median", "times slower: median", "ratio"),
    )
    figures = ("figure-3", "figure-7")
    notes = (
        ("Figures 3 and 7 are pictures in the study; of newer hardware its text gives some shares, without n.",)
        if charted.reference
        else ()
    )
    return _table(charted, "faster", "Functions that are faster elsewhere", columns, rows, figures, notes)


def intolerable(charted: ReportData, comparisons: Sequence[TargetRatios], factor: float = INTOLERABLE) -> Table:
    """The study's third kind of failure: functions that run, but more than ``factor`` times slower."""
    rows = []
    for each in comparisons:
        slow = sum(one.value > factor for one in each.functions)
        rows.append((*_who(each), _share(slow, len(each.functions))))
    columns = (*_TWO, Column("intolerable", f"more than {factor:g} times slower", "rate"))
    return _table(charted, "intolerable", "Intolerable latency", columns, rows, ("intolerable-latency",))


def intolerable_functions(
    charted: ReportData, comparisons: Sequence[TargetRatios], factor: float = INTOLERABLE
) -> Table:
    """The same functions by name."""
    rows = [
        (*_who(each), one.function, one.base_ms, one.other_ms, one.ratio)
        for each in comparisons
        for one in each.functions
        if one.value > factor
    ]
    columns = (*_TWO, Column("function", "function"), *_BOTH)
    title = f"Functions more than {factor:g} times slower"
    return _table(charted, "intolerable_functions", title, columns, rows, ("intolerable-latency",))


def scatter(charted: ReportData, comparisons: Sequence[TargetRatios]) -> Table:
    """Figure 1: one point a function, to be drawn on two logarithmic axes."""
    rows = [
        (*_who(each), one.function, one.base_ms, one.other_ms)
        for each in comparisons
        for one in sorted(each.functions, key=lambda one: one.function)
    ]
    columns = (*_TWO, Column("function", "function"), *_BOTH[:2])
    return _table(charted, "scatter", "Latency here against latency there", columns, rows, ("figure-1",))


def densities(charted: ReportData) -> Table:
    """Figures 2 and 8 to 10: how the latencies of a target's functions lie along a logarithmic axis."""
    rows: list[Row] = []
    for source, framework, target, values in _series(charted):
        found = density(values, logarithmic(min(values) / MARGIN, max(values) * MARGIN, POINTS)) if values else None
        if found is not None:
            for place, height in zip(found.places, found.heights, strict=True):
                rows.append((source, framework, target, place, height, found.n))
    columns = (
        *_WHO,
        Column("target", "target"),
        Column("milliseconds", "latency", "milliseconds", "ms"),
        Column("density", "density per decade", "density"),
        Column("functions", "functions", "number"),
    )
    notes = [
        f"{target} ({source}) has too few different latencies for a density: {len(values)}."
        for source, _, target, values in _series(charted)
        if target not in {row[2] for row in rows if row[0] == source}
    ]
    return _table(charted, "densities", "Densities of latency", columns, rows, _DENSITIES, notes)


def latency_deciles(charted: ReportData) -> Table:
    """The same in nine numbers a target."""
    rows: list[Row] = [
        (source, framework, target, *(deciles(values) if values else (Missing.not_measured,) * 9), len(values))
        for source, framework, target, values in _series(charted)
    ]
    columns = (
        *_WHO,
        Column("target", "target"),
        *(Column(f"p{percent}", f"{percent} % below", "milliseconds", "ms") for percent in range(10, 100, 10)),
        Column("functions", "functions", "number"),
    )
    return _table(charted, "latency_deciles", "Deciles of latency", columns, rows, _DENSITIES)


_DENSITIES = ("figure-2", "figure-8", "figure-9", "figure-10")


def _table(
    charted: ReportData,
    id: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    remade_from: tuple[str, ...],
    notes: Sequence[str] = (),
) -> Table:
    return tabled(
        charted,
        id,
        title,
        columns,
        rows,
        rule=f"Only runs that passed count, and of those only the ones proven on the device; measured is "
        f"{MEASURES[charted.measure]}. A function's ratio is the geometric mean over the cases that both targets "
        "measured, and its latencies are medians over the same cases; functions that never touch a device have none. "
        "The study's ratio is one mean divided by the other, over all it measured.",
        query=charted.queries.latencies,
        remade_from=remade_from,
        notes=(*notes, *_alone(charted, id)),
    )


def _alone(charted: ReportData, id: str) -> tuple[str, ...]:
    """What to say where there is nothing to compare."""
    if id in ("densities", "latency_deciles"):
        return ()
    compared = [
        framework
        for framework in charted.frameworks
        if sum(each.framework == framework and not each.simulated for each in charted.targets) == 1
    ]
    return tuple(
        f"Only one target of {framework} is here: there is nothing to set it against." for framework in compared
    )


def _who(comparison: TargetRatios) -> Row:
    return (comparison.source, comparison.framework, comparison.base, comparison.other)


def _share(count: int, n: int) -> Cell:
    return Rate(count, n) if n else Missing.not_measured


def _latencies(charted: ReportData, comparison: TargetRatios) -> Iterator[Row]:
    """Also functions that were charted and cannot be compared."""
    beside = _Beside(charted.reference, comparison.framework)
    for one in comparison.functions:
        yield (*_who(comparison), one.function, one.base_ms, one.other_ms, one.ratio, *beside.of(one.function))
    compared = {one.function for one in comparison.functions}
    others = {each.function for each in charted.verdicts if each.target_id in comparison.targets} - compared
    host_only = {each.function for each in charted.latencies if each.host_only}
    for function in sorted(others):
        why = Missing.host_only if function in host_only else Missing.not_measured
        yield (*_who(comparison), function, why, why, why, *beside.of(function))


def _uncompared(charted: ReportData, target: Target) -> Iterator[Row]:
    """A target that is set against no other still has latencies."""
    beside = _Beside(charted.reference, target.framework)
    measured = by_function(charted.latencies).get(target.id, {})
    for function in sorted({each.function for each in charted.by_target[target.id]}):
        milliseconds = measured.get(function, Missing.not_measured)
        who = (charted.name, target.framework, charted.labels[target.id], None)
        yield (*who, function, milliseconds, None, None, *beside.of(function))


class _Beside:
    """The study's figures of a framework: on the GPU, on the TPU, and how many times slower."""

    def __init__(self, reference: Reference | None, framework: str) -> None:
        self._asked = reference is not None
        functions = published(reference, framework).functions if reference else ()
        self._ratios = {each.function: each for each in functions}

    def of(self, function: str) -> Row:
        if not self._asked:
            return ()
        found = self._ratios.get(function)
        return (found.base_ms, found.other_ms, found.ratio) if found else (Missing.not_published,) * 3


def _speedups(reference: Reference, frameworks: Sequence[str]) -> Iterator[Row]:
    """What the study says of newer hardware; the rest of its Figures 3 and 7 is a picture."""
    for each in reference.speedups:
        if each.framework in frameworks:
            silent = Missing.not_published
            yield (
                *(reference.name, each.framework, each.older, each.newer),
                *(silent, each.functions_pct if each.factor == SPEEDUP else silent, silent, silent, silent),
            )


def _series(charted: ReportData) -> Iterator[tuple[str, str, str, list[float]]]:
    """Source, framework, target and the latencies of its functions."""
    measured = by_function(charted.latencies)
    for target in charted.targets:
        values = [each for each in measured.get(target.id, {}).values() if each > 0]
        yield charted.name, target.framework, charted.labels[target.id], values
    if charted.reference is None:
        return
    for where in charted.published():
        values = [
            each.milliseconds
            for each in charted.reference.latencies
            if (each.framework, each.device) == (where.framework, where.device) and each.milliseconds
        ]
        if where.device in (BEFORE, AFTER):
            yield charted.reference.name, where.framework, spelled(where), values
