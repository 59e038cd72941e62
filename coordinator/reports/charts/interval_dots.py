"""The overall cost of moving to another device: a dot with its interval for each pair of devices. It does no I/O."""

from __future__ import annotations

from typing import Any

import altair as alt

from coordinator.reports.charts.figure import Figure, Rows, distinct, figure, label_of_pair, share_of
from coordinator.reports.charts.latency_scatter import NOTHING_COMPARED
from coordinator.reports.charts.specification import (
    ROWS,
    AnyChart,
    by_name,
    chart_of_rows,
    dots,
    interval,
    logarithmic,
    percent,
    tooltips,
)
from coordinator.reports.charts.theme import COMPLETE, FAINT, INK, SERIES, SHAPES
from coordinator.reports.table import Table
from coordinator.results.report_data import ReportData
from coordinator.results.statistics import Estimate


def faster(data: ReportData, table: Table) -> Figure:
    """The study's Figures 3 and 7: the share of functions that are faster on the other device."""
    parts = {"faster": "faster", "faster_by_half": "at least 1.5 times faster"}
    rows = _shares(data, table, parts)
    return figure(
        data,
        table,
        "faster",
        drawing=_share_dots(rows, distinct(rows, "pair"), tuple(parts.values()), "functions that are faster there"),
        caption="Shares of the functions that passed on both devices. Lines are Wilson intervals of 95 %; shares "
        "published without n have none.",
        alternative=f"Functions that are faster on the second device: {_in_words(rows, 'faster')}.",
        silent=NOTHING_COMPARED,
    )


def intolerable(data: ReportData, table: Table, tolerable: float) -> Figure:
    """Functions that run but are intolerably slow, which is the study's third kind of failure."""
    slower = f"more than {tolerable:g} times slower"
    rows = _shares(data, table, {"intolerable": slower})
    return figure(
        data,
        table,
        "intolerable",
        drawing=_share_dots(rows, distinct(rows, "pair"), (slower,), f"functions {slower}"),
        caption="Shares of the functions that passed on both devices. The functions run, but are too slow to be "
        "useful. Lines are Wilson intervals of 95 %.",
        alternative=f"Functions that run {slower}: {_in_words(rows, slower)}.",
        silent=NOTHING_COMPARED,
    )


def slowdown(data: ReportData, table: Table) -> Figure:
    """The overall slowdown from one device to another: one ratio for each pair of devices."""
    rows: Rows = [
        {
            "pair": label_of_pair(data, record),
            "published": record["source"] != data.name,
            "ratio": mean.value,
            "low": mean.interval[0] if mean.interval else None,
            "high": mean.interval[1] if mean.interval else None,
            "n": mean.n,
        }
        for record in table.records()
        if isinstance(mean := record["geometric_mean"], Estimate) and mean.value is not None
    ]
    ratios = [float(ratio) for row in rows for ratio in (row["ratio"], row["low"], row["high"]) if ratio] or [1.0]
    low, high = min(0.5, min(ratios) / 1.3), max(2.0, max(ratios) * 1.3)
    return figure(
        data,
        table,
        "slowdown",
        title="Mean ratio of latencies",
        drawing=_ratio_dots(rows, distinct(rows, "pair"), low, high),
        caption="Geometric mean over functions of the second device's latency divided by the first device's. Lines are "
        "bootstrap intervals of 95 %, for five functions or more.",
        alternative="On average the second device takes: "
        + "; ".join(f"{row['pair']} {row['ratio']:.3g} times as long (n {row['n']})" for row in rows)
        + ".",
        silent=NOTHING_COMPARED,
    )


@chart_of_rows
def _share_dots(pairs: tuple[str, ...], parts: tuple[str, ...], axis_title: str) -> AnyChart:
    """A dot for each share. If a pair has several shares, each has its own color, shape and line."""
    several = len(parts) > 1
    legend = alt.Undefined if several else None
    axis = percent(axis_title)
    place: dict[str, Any] = {
        "y": alt.Y("pair:N", title=None, sort=list(pairs)),
        "yOffset": alt.YOffset("part:N", sort=list(parts)),
        "color": by_name(alt.Color, "part:N", parts, SERIES if several else (COMPLETE,), legend=legend),
    }
    shares = dots(
        alt.X("percent:Q", **axis),
        tooltips(pair="from → to", part="which", shown="functions"),
        shape=by_name(alt.Shape, "part:N", parts, SHAPES, legend=legend),
        **place,
    )
    height = alt.Step(18 if several else 26)
    return alt.layer(interval(axis, **place), shares, data=ROWS).properties(width=520, height=height)


@chart_of_rows
def _ratio_dots(pairs: tuple[str, ...], low: float, high: float) -> AnyChart:
    """A dot with its interval for each ratio. The dashed line marks a ratio of 1, which means equal times."""
    axis = logarithmic("times as long (geometric mean", low, high, tickCount=6)
    y = alt.Y("pair:N", title=None, sort=list(pairs))
    equal = (
        alt.Chart(alt.InlineData(values=[{"one": 1}]))
        .mark_rule(color=FAINT, strokeDash=[5, 4])
        .encode(x=alt.X("one:Q", **axis))
    )
    tooltip = [
        *tooltips(pair="from → to"),
        alt.Tooltip("ratio:Q", title="times as long", format=".3g"),
        alt.Tooltip("n:Q", title="functions"),
    ]
    means = dots(alt.X("ratio:Q", **axis), tooltip, colour=SERIES[0], y=y)
    lines = interval(axis, colour=INK, y=y)
    return alt.layer(equal, lines, means, data=ROWS).properties(width=520, height=alt.Step(26))


def _shares(data: ReportData, table: Table, parts: dict[str, str]) -> Rows:
    return [
        {
            "pair": label_of_pair(data, record),
            "published": record["source"] != data.name,
            "part": words,
            **share,
        }
        for record in table.records()
        for name, words in parts.items()
        if (share := share_of(record[name], " (n not published)"))
    ]


def _in_words(rows: Rows, part: str) -> str:
    return "; ".join(f"{row['pair']} {row['shown']}" for row in rows if row["part"] == part)
