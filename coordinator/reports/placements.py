"""Past the study: what really ran on the device, and how much of a first call is the first. Pure."""

from __future__ import annotations

from coordinator.reports.identity import tabled
from coordinator.reports.table import Cell, Column, Missing, Table
from coordinator.results.report_data import ReportData
from coordinator.results.statistics import Estimate, Rate, geometric_mean

Row = tuple[Cell, ...]
PLACEMENTS = ("on_device", "fell_back", "unknown")
"""Of cases that could run on a device; those of functions that never touch one are counted apart."""


def placements(charted: ReportData) -> Table:
    found = {(each.target_id, each.placement): each.cases for each in charted.placements}
    rows: list[Row] = []
    for target in charted.targets:
        cases = [found.get((target.id, placement), 0) for placement in PLACEMENTS]
        total = sum(cases)
        rates: Row = tuple(Rate(count, total) if total else Missing.none_counted for count in cases)
        host_only = found.get((target.id, "host_only"), 0)
        rows.append((charted.name, charted.labels[target.id], target.hardware, *rates, host_only))
    columns = (
        Column("source", "source"),
        Column("target", "target"),
        Column("hardware", "hardware"),
        Column("on_device", "ran on the device", "rate"),
        Column("fell_back", "fell back to the host", "rate"),
        Column("unknown", "not proven", "rate"),
        Column("host_only", "of functions that never touch a device", "number", "cases"),
    )
    return tabled(
        charted,
        "placement",
        "Placement: where the cases that passed really ran",
        columns,
        rows,
        rule="Cases of which a run passed. A case fell back if any of its passed runs did; it ran on the device if all "
        "are proven to have. Cases of functions that never touch a device are in no share.",
        query=charted.queries.placements,
        remade_from=(),
        notes=_silent(charted),
    )


def first_calls(charted: ReportData) -> Table:
    rows: list[Row] = []
    for target in charted.targets:
        of_it = [each for each in charted.first_calls if each.target_id == target.id]
        of_it.sort(key=lambda each: (-each.cold_ms / each.steady_ms, each.function))
        label = charted.labels[target.id]
        ratios = [each.cold_ms / each.steady_ms for each in of_it]
        if ratios:
            rows.append((charted.name, label, "all functions", None, None, geometric_mean(ratios)))
        rows += [
            (charted.name, label, each.function, each.cold_ms, each.steady_ms, Estimate(ratio, None, 1))
            for each, ratio in zip(of_it, ratios, strict=True)
        ]
    columns = (
        Column("source", "source"),
        Column("target", "target"),
        Column("function", "function"),
        Column("cold_ms", "first call", "milliseconds", "ms"),
        Column("steady_ms", "after warm-up", "milliseconds", "ms"),
        Column("ratio", "times slower the first time", "ratio"),
    )
    return tabled(
        charted,
        "first_calls",
        "First calls against calls after warm-up",
        columns,
        rows,
        rule="Only runs that passed on the device count. Both latencies are medians over a function's cases of the "
        "medians over their runs; the first call holds compilation. The mean over all functions is geometric.",
        query=charted.queries.first_calls,
        remade_from=(),
        notes=_silent(charted),
    )


def _silent(charted: ReportData) -> tuple[str, ...]:
    return (f"{charted.reference.name} did not publish this.",) if charted.reference else ()
