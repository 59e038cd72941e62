"""The table of a campaign whose functions are a sample: the rate at which they port, with the interval. It does no
I/O.
"""

from __future__ import annotations

from coordinator.catalogue.models import ChartedSample
from coordinator.reports.identity import Row, report_table
from coordinator.reports.table import Cell, Column, Missing, Table
from coordinator.results.models import PortRate
from coordinator.results.report_data import ReportData
from coordinator.results.samples import sample_rates


def sample(data: ReportData, charted_sample: ChartedSample) -> Table:
    rows: list[Row] = [
        (
            data.name,
            rate.target,
            rate.part,
            rate.drawn,
            rate.charted,
            _cell(rate.ports),
            _cell(rate.ports_on_device),
        )
        for rate in sample_rates(charted_sample, data.targets, data.verdicts)
    ]
    columns = (
        Column("source", "source"),
        Column("target", "target"),
        Column("part", "part of the sample"),
        Column("drawn", "drawn", "number", "functions"),
        Column("charted", "of these charted", "number", "functions"),
        Column("ports", "pass every case", "rate"),
        Column("ports_on_device", "pass every case on the device", "rate"),
    )
    left = charted_sample.not_charted
    notes = (*([f"Not charted, and excluded from the rates: {', '.join(left)}."] if left else []),)
    return report_table(data, "verdicts", "sample", f"The sample {charted_sample.name}", columns, rows, (), notes)


def _cell(rate: PortRate) -> Cell:
    return rate.rate if rate.n else Missing.none_counted
