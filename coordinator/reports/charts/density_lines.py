"""Densities of latency: a line for each target, in a panel for each framework. It does no I/O."""

from __future__ import annotations

import altair as alt

from coordinator.reports.charts.figure import Figure, Rows, figure, label
from coordinator.reports.charts.specification import (
    AnyChart,
    by_name,
    chart_of_rows,
    logarithmic_ms,
    panels,
    tooltips,
)
from coordinator.reports.charts.theme import DASHES, SERIES
from coordinator.reports.table import Table
from coordinator.results.report_data import MEASURES, ReportData


def densities(data: ReportData, table: Table) -> Figure:
    """The study's Figures 2 and 8 to 10: densities of latency."""
    rows = [
        {
            "published": record["source"] != data.name,
            "target": label(data, record),
            **{name: record[name] for name in ("framework", "milliseconds", "density", "functions")},
        }
        for record in table.records()
    ]
    sizes = {str(row["target"]): row["functions"] for row in rows}
    places = [float(str(row["milliseconds"])) for row in rows] or [1.0]
    return figure(
        data,
        table,
        "densities",
        drawing=_line_panels(rows, tuple(sizes), min(places), max(places)),
        caption=f"Kernel densities over functions. The measure is {MEASURES[data.measure]}; "
        + ", ".join(f"{target} n {size}" for target, size in sizes.items())
        + ".",
        alternative="Latency distribution; most functions take about: "
        + "; ".join(f"{target} {_peak(rows, target):.3g} ms" for target in sizes)
        + ".",
        silent="No target has five different latencies, the minimum for a density. Chart "
        "more functions, with timing on.",
    )


@chart_of_rows
def _line_panels(targets: tuple[str, ...], low: float, high: float) -> AnyChart:
    places = range(len(targets))
    colours = tuple(SERIES[place % len(SERIES)] for place in places)
    # The dashes are shifted by one after each round of colors, so that no two of 36 targets have both in common.
    dashes = tuple(DASHES[(place + place // len(SERIES)) % len(DASHES)] for place in places)
    legend = alt.Legend(symbolSize=700)
    lines = (
        alt.Chart()
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("milliseconds:Q", **logarithmic_ms("latency", low, high)),
            y=alt.Y("density:Q", title="functions per decade (share)"),
            color=by_name(alt.Color, "target:N", targets, colours, legend=legend),
            strokeDash=by_name(alt.StrokeDash, "target:N", targets, dashes, legend=legend),
            tooltip=[
                *tooltips(target="target"),
                alt.Tooltip("milliseconds:Q", title="latency (ms)", format=".3g"),
                alt.Tooltip("functions:Q", title="n"),
            ],
        )
        .properties(width=340, height=220)
    )
    return panels(lines, "framework:N")


def _peak(rows: Rows, target: str) -> float:
    line = [row for row in rows if row["target"] == target]
    return float(max(line, key=lambda row: float(row["density"]))["milliseconds"])
