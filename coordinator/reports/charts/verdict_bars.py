"""Verdicts of functions and placements of cases: a stacked bar for each target. It does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import altair as alt

from coordinator.figures.counting import rule_label
from coordinator.figures.formats import verdict_words
from coordinator.reports.charts.figure import Figure, Record, Rows, distinct, figure, label, share_of
from coordinator.reports.charts.specification import (
    ROWS,
    AnyChart,
    by_name,
    chart_of_rows,
    intervals_on_bars,
    panels,
    percent,
    tooltips,
)
from coordinator.reports.charts.theme import COMPLETE, FAINT, PARTIAL, QUIET, SUCCESS
from coordinator.reports.placements import PLACEMENTS
from coordinator.reports.table import Table
from coordinator.results.report_data import ReportData

VERDICTS = {"success": SUCCESS, "partial": PARTIAL, "complete": COMPLETE}
FAILURES = ("partial", "complete")
PLACED = {"ran on the device": SUCCESS, "fell back to the host": PARTIAL, "not proven": QUIET}
"""The labels of placements with their colors, in the order of ``PLACEMENTS``."""
COUNTED = (
    "Counted anywhere, a fallback to the host passes; counted on device, it fails. Skipped and incomplete cases are "
    "excluded. Counted on device, passing cases with unknown placement are excluded too."
)
WILSON = "Lines are Wilson intervals of 95 %."
NOTHING_COUNTED = (
    "No function has a case that passed or failed, so there is no rate to draw: see the table for what was skipped "
    "or incomplete."
)


def portability(data: ReportData, table: Table) -> Figure:
    """The study's Tables 1 and 3, drawn as bars."""
    rows = _parts(data, table, _words(VERDICTS), interval_of="success")
    passing = [row for row in rows if row["verdict"] == verdict_words("success")]
    return figure(
        data,
        table,
        "portability",
        drawing=_stacked_bars(rows, distinct(rows, "who"), _colours(VERDICTS), "functions"),
        caption=f"{COUNTED} {WILSON}",
        alternative="Functions that pass every case: "
        + "; ".join(f"{row['who']} {row['percent']:.0f} % of {row['n'] or 'unpublished n'}" for row in passing)
        + ".",
        silent=NOTHING_COUNTED,
    )


def failures_by_decile(data: ReportData, table: Table) -> Figure:
    """The study's Figure 4: failures by decile of use."""
    rows = _parts(data, table, _words(FAILURES), also=("decile",))
    for row in rows:
        row["decile"] = int(str(row["decile"]).removeprefix("decile"))
    return figure(
        data,
        table,
        "failures_by_decile",
        drawing=_decile_panels(rows, distinct(rows, "who")),
        caption=f"{COUNTED} Over each bar stands n, the functions of that decile in the study's sample.",
        alternative="Functions that fail some or all cases, by how often they are used: " + _worst(rows, "decile"),
        silent="No function of this campaign is in the study's sample with a case that passed or failed, so there "
        "are no deciles to draw: submit the suite `paper` to have them.",
    )


def failures_in_top20(data: ReportData, table: Table) -> Figure:
    """The study's Figure 5: failures among the 20 most used functions."""
    rows = _parts(data, table, _words(FAILURES))
    return figure(
        data,
        table,
        "failures_in_top20",
        drawing=_stacked_bars(rows, distinct(rows, "who"), _colours(FAILURES), "functions"),
        caption=COUNTED,
        alternative="Functions among the 20 most used that fail some or all cases: " + _worst(rows, None),
        silent="None of the 20 functions that the study found most used has a case here that passed or failed: submit "
        "the suite `paper` to have them.",
    )


def placement(data: ReportData, table: Table) -> Figure:
    """The shares of passed cases that ran on the device, fell back, or have no proof of their placement."""
    rows = _parts(data, table, dict(zip(PLACEMENTS, PLACED, strict=True)))
    fallbacks = [row for row in rows if row["verdict"] == "fell back to the host"]
    return figure(
        data,
        table,
        "placement",
        drawing=_stacked_bars(rows, distinct(rows, "who"), tuple(PLACED.items()), "cases that passed"),
        caption="A case fell back if any of its passed runs did. Functions that never touch a device are excluded.",
        alternative="Cases that passed by falling back to the host: "
        + "; ".join(f"{row['who']} {row['shown']}" for row in fallbacks)
        + ".",
        silent="No case passed, so placements are unknown.",
    )


@chart_of_rows
def _stacked_bars(targets: tuple[str, ...], colours: tuple[tuple[str, str], ...], axis_title: str) -> AnyChart:
    """Stacked bars in a fixed order. The interval of the first part is above the bar, and n at its end."""
    y = alt.Y("who:N", title=None, sort=list(targets))
    axis = percent(axis_title)
    bars = (
        alt.Chart()
        .mark_bar(height=alt.RelativeBandSize(band=0.7))
        .encode(
            y=y,
            x=alt.X("percent:Q", stack="zero", **axis),
            order=alt.Order("order:O"),
            color=by_name(alt.Color, "verdict:N", *zip(*colours, strict=True), legend=alt.Legend(columns=3)),
            tooltip=tooltips(who="target", verdict="part", shown=axis_title),
        )
    )
    sizes = (
        alt.Chart()
        .mark_text(align="left", dx=6, color=FAINT)
        .transform_filter("datum.order == 0 && isValid(datum.n)")
        .transform_calculate(size="'n ' + datum.n")
        .encode(y=y, x=alt.X(datum=100, type="quantitative", **axis), text="size:N")
    )
    layers = [bars, *intervals_on_bars(axis, light=5, y=y), sizes]
    return alt.layer(*layers, data=ROWS).properties(width=520, height=alt.Step(24))


@chart_of_rows
def _decile_panels(targets: tuple[str, ...]) -> AnyChart:
    """A panel for each target, with a bar for each decile of use and n above it."""
    x = alt.X("decile:O", title="decile of use (10: rarest, 100: most used)", axis=alt.Axis(labelAngle=0))
    axis = percent("functions that failed")
    bars = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=x,
            y=alt.Y("percent:Q", stack="zero", **axis),
            order=alt.Order("order:O"),
            color=by_name(alt.Color, "verdict:N", *zip(*_colours(FAILURES), strict=True)),
            tooltip=tooltips(who="target", decile="decile", verdict="verdict", shown="functions"),
        )
    )
    sizes = (
        alt.Chart()
        .mark_text(baseline="bottom", dy=-2, color=FAINT, fontSize=10)
        .transform_filter("datum.order == 1")
        .encode(x=x, y=alt.Y("failed:Q", **axis), text="n:Q")
    )
    panel = alt.LayerChart(layer=[bars, sizes], width=300, height=120)
    return panels(panel, "who:N", targets)


def _words(verdicts: Iterable[str]) -> dict[str, str]:
    """The verdicts in words. The keys are the table's columns."""
    return {verdict: verdict_words(verdict) for verdict in verdicts}


def _colours(verdicts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The verdicts in words, each with its color."""
    return tuple((verdict_words(verdict), VERDICTS[verdict]) for verdict in verdicts)


def _parts(
    data: ReportData,
    table: Table,
    columns: Mapping[str, str],
    *,
    interval_of: str | None = None,
    also: Iterable[str] = (),
) -> Rows:
    """The parts of each bar. ``columns`` maps the table's columns to words. A bar is not drawn if one of its parts has
    no value."""
    rows = []
    for record in table.records():
        shares = {column: share_of(record[column]) for column in columns}
        if not all(shares.values()):
            continue
        failed_percent = sum(shares[column]["percent"] for column in FAILURES if column in shares)
        for order, (column, share) in enumerate(shares.items()):
            if column != interval_of:
                share = {name: value for name, value in share.items() if name not in ("low", "high")}
            part = {"who": _bar_label(data, record), "published": record["source"] != data.name, **share}
            part |= {"verdict": columns[column], "failed": failed_percent, "order": order}
            rows.append(part | {name: record[name] for name in also})
    return rows


def _worst(rows: Rows, where: str | None) -> str:
    """Return, for each target, the row with the largest percentage of failed functions, as part of a sentence."""
    sentences = []
    for target in distinct(rows, "who"):
        worst = max((row for row in rows if row["who"] == target), key=lambda row: float(row["failed"]))
        place = f", most in decile {worst[where]}" if where and worst["failed"] else ""
        sentences.append(f"{target} {worst['failed']:.0f} %{place}")
    return "; ".join(sentences) + "."


def _bar_label(data: ReportData, record: Record) -> str:
    """The label of a bar: its target. If there are two ways of counting, the label includes the way."""
    two_ways = "counted_by" in record and record["source"] == data.name
    return f"{label(data, record)}, {rule_label(str(record['counted_by']))}" if two_ways else label(data, record)
