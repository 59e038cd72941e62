"""Latencies on one device against latencies on another: a point for each function, on two logarithmic axes. It does no
I/O.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import altair as alt

from coordinator.reports.charts.figure import Figure, Record, Rows, distinct, figure, label, label_of_pair
from coordinator.reports.charts.specification import (
    AnyChart,
    by_name,
    chart_of_rows,
    logarithmic_ms,
    panels,
    tooltips,
)
from coordinator.reports.charts.theme import FAINT, SERIES, SHAPES
from coordinator.reports.table import Table
from coordinator.results.report_data import MEASURES, ReportData
from coordinator.results.statistics import Estimate

FEWEST = 2
"""The minimum number of functions of a panel. A panel with fewer is not drawn."""
MOST = 5000
"""The maximum number of points of a panel. If there are more, only every n-th is drawn, and the figure says so."""
LONG_FIRST_CALL = 10
"""The factor from which a first call counts as long, compared with a call after warm-up."""
NOTHING_COMPARED = (
    "No function was measured on two targets of one framework, so there is nothing to compare: chart a "
    "second device of the same framework, with timing on."
)


def scatter(data: ReportData, table: Table, tolerable: float) -> Figure:
    """The study's Figure 1: latencies on one device against latencies on the other."""
    rows, thinning_note = _points(data, table, "base_ms", "other_ms", label_of_pair)
    axes = ("latency on the first device", "latency on the second device")
    return figure(
        data,
        table,
        "scatter",
        drawing=_point_panels(rows, distinct(rows, "pair"), axes, _decades(rows), tolerable),
        caption=f"Each point is a function that passed on both devices, with proven placement. The measure is "
        f"{MEASURES[data.measure]}. On the solid line, both devices take as long; above the dashed line, the second "
        f"takes more than {tolerable:g} times as long.{thinning_note}",
        alternative="Latency of each function on two devices: "
        + "; ".join(f"{pair}, {_slower(rows, pair)} slower" for pair in distinct(rows, "pair"))
        + ".",
        silent=_too_few(table) if table.rows else NOTHING_COMPARED,
    )


def first_calls(data: ReportData, table: Table) -> Figure:
    """First calls, which include compilation, plotted against calls after warm-up."""
    rows, thinning_note = _points(data, table, "steady_ms", "first_cold_ms", label)
    axes = ("median after warm-up", "latency of a process's first call")
    return figure(
        data,
        table,
        "first_calls",
        drawing=_point_panels(rows, distinct(rows, "pair"), axes, _decades(rows), LONG_FIRST_CALL),
        caption=f"Each point is a function that passed on the device; the first call includes compilation. Above the "
        f"dashed line, the first call takes more than {LONG_FIRST_CALL} times as long.{thinning_note}",
        alternative="First calls compared with calls after warm-up. The geometric mean of the ratio of the first call "
        "to a later one: "
        + "; ".join(
            f"{record['target']} {record['ratio'].value:.3g} (n {record['ratio'].n})"
            for record in table.records()
            if record["function"] == "all functions" and isinstance(record["ratio"], Estimate)
        )
        + ".",
        silent="No target has two functions with both a first call and calls after warm-up: submit a campaign with "
        "timing `steady`.",
    )


@chart_of_rows
def _point_panels(
    pairs: tuple[str, ...], axes: tuple[str, str], limits: tuple[float, float], factor: float
) -> AnyChart:
    """A panel for each pair. Above the dashed line, the y value is more than ``factor`` times the x value."""
    (across, up), (low, high) = axes, limits
    x, y = logarithmic_ms(across, low, high), logarithmic_ms(up, low, high)

    def diagonal(times: float, dash: list[int]) -> alt.Chart:
        # The line is clipped to the panel here, because Vega would draw an end beyond the scale.
        ends = [{"x": low, "y": low * times}, {"x": high / times, "y": high}]
        line: alt.Chart = (
            alt.Chart(alt.InlineData(values=ends if high / times > low else []))
            .mark_line(color=FAINT, strokeDash=dash, strokeWidth=1)
            .encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y))
        )
        return line

    points = (
        alt.Chart()
        .mark_point(filled=True, size=36, opacity=0.75)
        .encode(
            x=alt.X("x:Q", **x),
            y=alt.Y("y:Q", **y),
            color=by_name(alt.Color, "published:N", (False, True), SERIES, legend=None),
            shape=by_name(alt.Shape, "published:N", (False, True), SHAPES, legend=None),
            tooltip=[
                *tooltips(function="function"),
                alt.Tooltip("x:Q", title=f"{across} (ms)", format=".3g"),
                alt.Tooltip("y:Q", title=f"{up} (ms)", format=".3g"),
            ],
        )
    )
    panel = alt.LayerChart(layer=[diagonal(1, [1, 0]), diagonal(factor, [5, 4]), points], width=320, height=320)
    return panels(panel, "pair:N", pairs)


def _points(
    data: ReportData, table: Table, x: str, y: str, name: Callable[[ReportData, Record], str]
) -> tuple[Rows, str]:
    """The panels with enough points, and a sentence about points that were left out.

    The points are thinned to a number that can be read. The sentence is empty if all points are shown.
    """
    by_pair: dict[str, Rows] = {}
    for record in table.records():
        across, up = record[x], record[y]
        if isinstance(across, int | float) and isinstance(up, int | float) and across > 0 and up > 0:
            pair = name(data, record)
            point = {"pair": pair, "function": record["function"], "x": across, "y": up}
            by_pair.setdefault(pair, []).append({**point, "published": record["source"] != data.name})
    selection: Rows = []
    thinning_note = ""
    for points in by_pair.values():
        if len(points) > MOST:
            thinning_note = f" Panels show at most {MOST:,} evenly drawn functions; the table has all."
            points = [points[math.floor(place * len(points) / MOST)] for place in range(MOST)]
        if len(points) >= FEWEST:
            selection += points
    return selection, thinning_note


def _decades(rows: Rows) -> tuple[float, float]:
    """The two powers of ten between which all points lie."""
    latencies = [float(row[axis]) for row in rows for axis in ("x", "y")] or [1.0]
    return 10 ** math.floor(math.log10(min(latencies))), 10 ** math.ceil(math.log10(max(latencies) * 1.0001))


def _slower(rows: Rows, pair: str) -> str:
    points = [row for row in rows if row["pair"] == pair]
    return f"{sum(row['y'] > row['x'] for row in points)} of {len(points)}"


def _too_few(table: Table) -> str:
    functions = len({row["function"] for row in table.records()})
    noun = "one function was" if functions == 1 else f"{functions} functions were"
    return f"Only {noun} measured on both of two targets: too few to draw. The table has the available values."
