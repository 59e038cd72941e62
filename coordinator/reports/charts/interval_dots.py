"""What the other device costs on the whole: a dot with its interval for each pair of devices. Pure."""

from __future__ import annotations

from typing import Any

import altair as alt

from coordinator.reports.charts.cells import interval_of, percent_of, text_of
from coordinator.reports.charts.figure import Figure, Rows, Spec, distinct, figure, label_of_pair
from coordinator.reports.charts.latency_scatter import NOTHING_COMPARED
from coordinator.reports.charts.specification import ROWS, AnyChart, categories, percent, specified, with_rows
from coordinator.reports.charts.theme import COMPLETE, FAINT, INK, SERIES, SHAPES
from coordinator.reports.table import Table
from coordinator.results.report_data import ReportData
from coordinator.results.statistics import Estimate


def faster(charted: ReportData, table: Table) -> Figure:
    """Figures 3 and 7."""
    parts = {"faster": "faster", "faster_by_half": "at least 1.5 times faster"}
    rows = _shares(charted, table, parts)
    return figure(
        charted,
        table,
        "faster",
        drawing=_drawn_shares(rows, parts, "functions that are faster there"),
        counted="Of the functions that passed on both devices. Lines are Wilson intervals of 95 %; what was published "
        "without n has none.",
        alternative=f"Functions that are faster on the second device: {_in_words(rows, 'faster')}.",
        silent=NOTHING_COMPARED,
    )


def intolerable(charted: ReportData, table: Table, tolerable: float) -> Figure:
    """The study's third kind of failure."""
    parts = {"intolerable": f"more than {tolerable:g} times slower"}
    rows = _shares(charted, table, parts)
    return figure(
        charted,
        table,
        "intolerable",
        drawing=_drawn_shares(rows, parts, f"functions more than {tolerable:g} times slower"),
        counted="Of the functions that passed on both devices: they run, and are too slow to be used. Lines are Wilson "
        "intervals of 95 %.",
        alternative=f"Functions that run more than {tolerable:g} times slower: "
        f"{_in_words(rows, parts['intolerable'])}.",
        silent=NOTHING_COMPARED,
    )


def slowdown(charted: ReportData, table: Table) -> Figure:
    """The one number a pair of devices comes down to."""
    rows: Rows = [
        {
            "pair": label_of_pair(charted, record),
            "published": record["source"] != charted.name,
            "ratio": mean.value,
            "low": mean.interval[0] if mean.interval else None,
            "high": mean.interval[1] if mean.interval else None,
            "n": mean.n,
        }
        for record in table.records()
        if isinstance(mean := record["geometric_mean"], Estimate) and mean.value is not None
    ]
    return figure(
        charted,
        table,
        "slowdown",
        title="How many times slower, on the whole",
        drawing=_drawn_ratios(rows),
        counted="Geometric mean over functions of how many times as long the second device takes; lines are bootstrap "
        "intervals of 95 %, of five functions and more.",
        alternative="On the whole the second device takes: "
        + "; ".join(f"{row['pair']} {row['ratio']:.3g} times as long (n {row['n']})" for row in rows)
        + ".",
        silent=NOTHING_COMPARED,
    )


def _drawn_shares(rows: Rows, parts: dict[str, str], counted: str) -> Spec | None:
    return with_rows(_share_dots(distinct(rows, "pair"), tuple(parts.values()), counted), rows) if rows else None


@specified
def _share_dots(pairs: tuple[str, ...], parts: tuple[str, ...], counted: str) -> AnyChart:
    """Of several parts each has a colour, a shape and a line of its own."""
    several = len(parts) > 1
    legend = alt.Undefined if several else None
    axis = percent(counted)
    encoding: dict[str, Any] = {
        "y": alt.Y("pair:N", title=None, sort=list(pairs)),
        "yOffset": alt.YOffset("part:N", sort=list(parts)),
        "color": alt.Color(
            "part:N",
            title=None,
            legend=legend,
            scale=categories(parts, SERIES[: len(parts)] if several else (COMPLETE,)),
        ),
    }
    lines = (
        alt.Chart()
        .mark_rule(strokeWidth=2)
        .transform_filter("isValid(datum.low)")
        .encode(**encoding, x=alt.X("low:Q", **axis), x2="high")
    )
    dots = (
        alt.Chart()
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            **encoding,
            x=alt.X("percent:Q", **axis),
            shape=alt.Shape("part:N", title=None, legend=legend, scale=categories(parts, SHAPES[: len(parts)])),
            tooltip=[
                alt.Tooltip("pair:N", title="from → to"),
                alt.Tooltip("part:N", title="which"),
                alt.Tooltip("shown:N", title="functions"),
            ],
        )
    )
    return alt.layer(lines, dots, data=ROWS).properties(width=520, height=alt.Step(18 if several else 26))


def _drawn_ratios(rows: Rows) -> Spec | None:
    if not rows:
        return None
    ratios = [float(ratio) for row in rows for ratio in (row["ratio"], row["low"], row["high"]) if ratio]
    return with_rows(
        _ratio_dots(distinct(rows, "pair"), min(0.5, min(ratios) / 1.3), max(2.0, max(ratios) * 1.3)), rows
    )


@specified
def _ratio_dots(pairs: tuple[str, ...], low: float, high: float) -> AnyChart:
    """The dashed line is where both devices take as long."""
    axis: dict[str, Any] = {
        "title": "times as long (geometric mean, logarithmic)",
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(format="~g", tickCount=6),
    }
    y = alt.Y("pair:N", title=None, sort=list(pairs))
    equal = (
        alt.Chart(alt.InlineData(values=[{"one": 1}]))
        .mark_rule(color=FAINT, strokeDash=[5, 4])
        .encode(x=alt.X("one:Q", **axis))
    )
    lines = (
        alt.Chart()
        .mark_rule(color=INK, strokeWidth=2)
        .transform_filter("isValid(datum.low)")
        .encode(y=y, x=alt.X("low:Q", **axis), x2="high")
    )
    dots = (
        alt.Chart()
        .mark_point(filled=True, size=90, color=SERIES[0], opacity=1)
        .encode(
            y=y,
            x=alt.X("ratio:Q", **axis),
            tooltip=[
                alt.Tooltip("pair:N", title="from → to"),
                alt.Tooltip("ratio:Q", title="times as long", format=".3g"),
                alt.Tooltip("n:Q", title="functions"),
            ],
        )
    )
    return alt.layer(equal, lines, dots, data=ROWS).properties(width=520, height=alt.Step(26))


def _shares(charted: ReportData, table: Table, parts: dict[str, str]) -> Rows:
    return [
        {
            "pair": label_of_pair(charted, record),
            "published": record["source"] != charted.name,
            "part": words,
            "shown": text_of(record[name], " (n not published)"),
            "percent": percent_of(record[name]),
            **interval_of(record[name]),
        }
        for record in table.records()
        for name, words in parts.items()
        if percent_of(record[name]) is not None
    ]


def _in_words(rows: Rows, part: str) -> str:
    return "; ".join(f"{row['pair']} {row['shown']}" for row in rows if row["part"] == part)
