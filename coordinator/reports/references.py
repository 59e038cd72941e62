"""The table of references: which reference judged a campaign's cases, and whether it is independent of the function. It
does no I/O.
"""

from __future__ import annotations

from coordinator.reports.identity import Row, report_table
from coordinator.reports.table import Column, Table
from coordinator.results.judges import WORDS, judge_counts
from coordinator.results.report_data import ReportData


def judges(data: ReportData) -> Table:
    cases = sum(row.cases for row in data.judged)
    functions = len({(row.framework, row.function) for row in data.judged})
    rows: list[Row] = [
        (data.name, str(count.judge), WORDS[count.judge], count.cases, count.functions)
        for count in judge_counts(data.judged)
    ]
    columns = (
        Column("source", "source"),
        Column("judged_by", "judged by"),
        Column("what", "which is"),
        Column("cases", f"of {cases:,} cases", "number", "cases"),
        Column("functions", f"of {functions:,} functions, with such a case", "number", "functions"),
    )
    return report_table(data, "judges", "judges", "References: what judged the cases", columns, rows)
