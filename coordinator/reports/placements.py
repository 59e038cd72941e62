"""Tables that the study does not have: where cases ran, and how long first calls take. It does no I/O."""

from __future__ import annotations

from coordinator.reports.identity import Row, report_table
from coordinator.reports.table import Column, Missing, Table
from coordinator.results.report_data import ReportData
from coordinator.results.statistics import Estimate, Rate, geometric_mean

PLACEMENTS = ("on_device", "fell_back", "unknown")
"""Placements of cases that could run on a device; host-only functions are counted separately."""
_TARGET = (Column("source", "source"), Column("target", "target"))


def placements(data: ReportData) -> Table:
    cases_by_placement = {(row.target_id, row.placement): row.cases for row in data.placements}
    rows: list[Row] = []
    for target in data.run_targets:
        cases = [cases_by_placement.get((target.id, placement), 0) for placement in PLACEMENTS]
        total = sum(cases)
        rates: Row = tuple(Rate(count, total) if total else Missing.none_counted for count in cases)
        host_only = cases_by_placement.get((target.id, "host_only"), 0)
        rows.append((data.name, data.labels[target.id], target.hardware, *rates, host_only))
    columns = (
        *_TARGET,
        Column("hardware", "hardware"),
        Column("on_device", "ran on the device", "rate"),
        Column("fell_back", "fell back to the host", "rate"),
        Column("unknown", "not proven", "rate"),
        Column("host_only", "of functions that never touch a device", "number", "cases"),
    )
    title = "Placement: where the cases that passed really ran"
    return report_table(data, "placements", "placement", title, columns, rows, (), _not_in_study(data))


def first_calls(data: ReportData) -> Table:
    rows: list[Row] = []
    for target in data.run_targets:
        calls = [
            (call.first_cold_ms / call.steady_ms, call) for call in data.first_calls if call.target_id == target.id
        ]
        calls.sort(key=lambda ratio_and_call: (-ratio_and_call[0], ratio_and_call[1].function))
        label = data.labels[target.id]
        if calls:
            rows.append(
                (data.name, label, "all functions", None, None, None, geometric_mean([ratio for ratio, _ in calls]))
            )
        rows += [
            (
                *(data.name, label, call.function),
                *(call.first_cold_ms, call.later_cold_ms, call.steady_ms),
                Estimate(ratio, None, 1),
            )
            for ratio, call in calls
        ]
    columns = (
        *_TARGET,
        Column("function", "function"),
        Column("first_cold_ms", "first call of a process", "milliseconds", "ms"),
        Column("later_cold_ms", "first call of a later case", "milliseconds", "ms"),
        Column("steady_ms", "median after warm-up", "milliseconds", "ms"),
        Column("ratio", "times slower the first time", "ratio"),
    )
    title = "First calls compared with calls after warm-up"
    return report_table(data, "first_calls", "first_calls", title, columns, rows, (), _not_in_study(data))


def _not_in_study(data: ReportData) -> tuple[str, ...]:
    return (f"{data.reference.name} did not publish this.",) if data.reference else ()
