"""Why functions failed: a bar for each cause, in a panel for each target. Pure."""

from __future__ import annotations

import altair as alt

from coordinator.reports.charts.cells import interval_of, percent_of, text_of
from coordinator.reports.charts.figure import Figure, Rows, distinct, figure, label
from coordinator.reports.charts.specification import (
    AnyChart,
    categories,
    intervals,
    panels,
    percent,
    specified,
    with_rows,
)
from coordinator.reports.charts.theme import INK, SERIES
from coordinator.reports.charts.verdict_bars import COUNTED, NOTHING_COUNTED, WILSON
from coordinator.reports.table import Table
from coordinator.results.report_data import ReportData
from coordinator.results.statistics import Rate


def causes(charted: ReportData, table: Table) -> Figure:
    """Figure 6."""
    rows = [
        {
            "target": label(charted, str(record["target"])),
            "counted_by": f"by {record['counted_by']}",
            "cause": record["cause"],
            "percent": percent_of(record["functions"]),
            "shown": text_of(record["functions"]),
            **interval_of(record["functions"]),
        }
        for record in table.records()
        if isinstance(record["functions"], Rate)
    ]
    return figure(
        charted,
        table,
        "causes",
        drawing=with_rows(_cause_panels(*_names(rows)), rows) if rows else None,
        counted=f"Of the functions that failed in part or completely, the most frequent cause of their failed cases. "
        f"{COUNTED} {WILSON}",
        alternative="Main causes of failures: "
        + "; ".join(f"{row['target']} {row['counted_by']}: {row['cause']} {row['shown']}" for row in _main(rows))
        + ".",
        silent="No function failed, so there are no causes to draw."
        if any(verdict.verdict != "unknown" for verdict in charted.verdicts)
        else NOTHING_COUNTED,
    )


@specified
def _cause_panels(targets: tuple[str, ...], causes: tuple[str, ...], ways: tuple[str, ...]) -> AnyChart:
    """The two ways of counting lie one below the other, in colours and in shades of their own."""
    y = alt.Y("cause:N", title=None, sort=list(causes))
    offset = alt.YOffset("counted_by:N", sort=list(ways))
    axis = percent("functions that failed")
    bars = (
        alt.Chart()
        .mark_bar(stroke=INK, strokeWidth=0.6)
        .encode(
            y=y,
            yOffset=offset,
            x=alt.X("percent:Q", **axis),
            color=alt.Color("counted_by:O", title=None, scale=categories(ways, SERIES[: len(ways)])),
            opacity=alt.Opacity("counted_by:O", title=None, scale=categories(ways, (1, 0.45)[: len(ways)])),
            tooltip=[
                alt.Tooltip("target:N"),
                alt.Tooltip("counted_by:N", title="counted"),
                alt.Tooltip("cause:N"),
                alt.Tooltip("shown:N", title="functions"),
            ],
        )
    )
    panel = alt.LayerChart(layer=[bars, *intervals(axis, light=4, y=y, yOffset=offset)], width=300, height=alt.Step(13))
    return panels(panel, "target:N", targets)


def _names(rows: Rows) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The targets as they come, the causes from the most frequent, and the ways of counting."""
    most: dict[str, float] = {}
    for row in rows:
        most[row["cause"]] = max(row["percent"], most.get(row["cause"], 0.0))
    causes = sorted(sorted(most), key=lambda cause: -most[cause])
    return distinct(rows, "target"), tuple(causes), tuple(sorted(distinct(rows, "counted_by")))


def _main(rows: Rows) -> Rows:
    """Of each target and way of counting the most frequent causes."""
    most: dict[tuple[str, str], float] = {}
    for row in rows:
        counted = row["target"], row["counted_by"]
        most[counted] = max(row["percent"], most.get(counted, 0.0))
    return [row for row in rows if row["percent"] == most[row["target"], row["counted_by"]]]
