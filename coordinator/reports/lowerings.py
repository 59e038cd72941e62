"""The table of functions without a lowering, for targets that only lower programs and do not run them. It does no
I/O.
"""

from __future__ import annotations

from coordinator.reports.identity import Row, report_table
from coordinator.reports.table import Column, Missing, Table
from coordinator.results.lowerings import LABEL, lowering_words
from coordinator.results.report_data import ReportData

EVERY = "every function"


def lowerings(data: ReportData) -> Table:
    rows: list[Row] = []
    for target in data.lowered_targets:
        rate = data.lowering_rate(target)
        label = data.labels[target.id]
        rows.append((data.name, label, EVERY, rate if rate.n else Missing.none_counted, None))
        rows += [
            (data.name, label, row.function, None, lowering_words(row))
            for row in data.by_target[target.id]
            if row.not_lowered
        ]
    columns = (
        Column("source", "source"),
        Column("target", "target (lowered, not run)"),
        Column("function", "function"),
        Column("lowered", LABEL, "rate"),
        Column("lowering", "its lowering"),
    )
    notes = (f"{data.reference.name} did not publish this.",) if data.reference else ()
    title = "Lowerings: functions without one, found without the device"
    return report_table(data, "lowerings", "lowerings", title, columns, rows, (), notes)
