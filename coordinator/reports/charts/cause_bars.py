"""Causes of failure: a bar for each cause, in a panel for each target. It does no I/O."""

from __future__ import annotations

import altair as alt

from coordinator.figures.counting import rule_label
from coordinator.reports.charts.figure import Figure, Rows, distinct, figure, label, share_of
from coordinator.reports.charts.specification import (
    AnyChart,
    by_name,
    chart_of_rows,
    intervals_on_bars,
    panels,
    percent,
    tooltips,
)
from coordinator.reports.charts.theme import INK, SERIES
from coordinator.reports.charts.verdict_bars import COUNTED, NOTHING_COUNTED, WILSON
from coordinator.reports.table import Table
from coordinator.results.report_data import ReportData


def causes(data: ReportData, table: Table) -> Figure:
    """The study's Figure 6: causes of failure."""
    rows = [
        {
            "target": label(data, record),
            "counted_by": rule_label(str(record["counted_by"])),
            "cause": record["cause"],
            **share,
        }
        for record in table.records()
        if (share := share_of(record["functions"]))
    ]
    greatest = _greatest(rows, "cause")
    return figure(
        data,
        table,
        "causes",
        drawing=_cause_panels(
            rows,
            distinct(rows, "target"),
            tuple(sorted(sorted(distinct(rows, "cause")), key=lambda cause: -greatest[cause,])),
            tuple(sorted(distinct(rows, "counted_by"))),
        ),
        caption=f"Of the functions that fail some or all cases, the most frequent cause of their failed cases. "
        f"{COUNTED} {WILSON}",
        alternative="Main causes of failures: "
        + "; ".join(f"{row['target']}, {row['counted_by']}: {row['cause']} {row['shown']}" for row in _main(rows))
        + ".",
        silent="No function failed, so there are no causes to draw."
        if any(verdict.anywhere.verdict != "unknown" for verdict in data.verdicts)
        else NOTHING_COUNTED,
    )


@chart_of_rows
def _cause_panels(targets: tuple[str, ...], causes: tuple[str, ...], ways: tuple[str, ...]) -> AnyChart:
    """Panels for the two ways of counting, one below the other, each with its own colors."""
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
            color=by_name(alt.Color, "counted_by:O", ways, SERIES),
            opacity=by_name(alt.Opacity, "counted_by:O", ways, (1, 0.45)),
            tooltip=tooltips(target="target", counted_by="counted", cause="cause", shown="functions"),
        )
    )
    lines = intervals_on_bars(axis, light=4, y=y, yOffset=offset)
    return panels(alt.LayerChart(layer=[bars, *lines], width=300, height=alt.Step(13)), "target:N", targets)


def _greatest(rows: Rows, *columns: str) -> dict[tuple[str, ...], float]:
    """The greatest share for each combination of values in these columns."""
    greatest: dict[tuple[str, ...], float] = {}
    for row in rows:
        key = tuple(row[column] for column in columns)
        greatest[key] = max(row["percent"], greatest.get(key, 0.0))
    return greatest


def _main(rows: Rows) -> Rows:
    """The most frequent causes of each target, for each way of counting."""
    greatest = _greatest(rows, "target", "counted_by")
    return [row for row in rows if row["percent"] == greatest[row["target"], row["counted_by"]]]
