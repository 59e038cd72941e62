"""Which functions port, and where their cases ran: bars that add up, a bar for each target. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from coordinator.reports.charts.cells import interval_of, percent_of, size_of, text_of
from coordinator.reports.charts.figure import Figure, Rows, Spec, distinct, figure, label
from coordinator.reports.charts.specification import (
    ROWS,
    AnyChart,
    categories,
    intervals,
    panels,
    percent,
    specified,
    with_rows,
)
from coordinator.reports.charts.theme import COMPLETE, FAINT, PARTIAL, QUIET, SUCCESS
from coordinator.reports.placements import PLACEMENTS
from coordinator.reports.table import Cell, Table
from coordinator.results.report_data import ReportData
from coordinator.results.statistics import Rate

VERDICTS = {"success": SUCCESS, "partial": PARTIAL, "complete": COMPLETE}
FAILURES = {verdict: VERDICTS[verdict] for verdict in ("partial", "complete")}
PLACED = {"ran on the device": SUCCESS, "fell back to the host": PARTIAL, "not proven": QUIET}
"""In the order of ``PLACEMENTS``."""
COUNTED = (
    "By verdict a fallback to the host passes, by verdict_on_device it fails; skipped and incomplete cases are in no "
    "denominator, nor by verdict_on_device are those that passed without proof of where."
)
WILSON = "Lines are Wilson intervals of 95 %."
NOTHING_COUNTED = (
    "No function has a case that passed or failed, so there is no rate to draw: see the table for what was skipped "
    "or incomplete."
)


def portability(charted: ReportData, table: Table) -> Figure:
    """Tables 1 and 3 as bars."""
    rows = [
        {
            "who": _target_of(charted, record),
            "published": record["source"] != charted.name,
            "verdict": verdict,
            "percent": percent_of(record[verdict]),
            "shown": text_of(record[verdict]),
            "order": place,
            "n": size_of(record["success"]),
            **(interval_of(record["success"]) if verdict == "success" else {}),
        }
        for record in table.records()
        if percent_of(record["success"]) is not None
        for place, verdict in enumerate(VERDICTS)
    ]
    successes = [row for row in rows if row["verdict"] == "success"]
    return figure(
        charted,
        table,
        "portability",
        drawing=_drawn_bars(rows, VERDICTS, "functions"),
        counted=f"{COUNTED} {WILSON}",
        alternative="Functions that succeed: "
        + "; ".join(f"{row['who']} {row['percent']:.0f} % of {row['n'] or 'unpublished n'}" for row in successes)
        + ".",
        silent=NOTHING_COUNTED,
    )


def failures_by_decile(charted: ReportData, table: Table) -> Figure:
    """Figure 4."""
    rows = list(_failures(charted, table, "decile"))
    for row in rows:
        row["decile"] = int(str(row["decile"]).removeprefix("decile"))
    return figure(
        charted,
        table,
        "failures_by_decile",
        drawing=with_rows(_decile_panels(distinct(rows, "who")), rows) if rows else None,
        counted=f"{COUNTED} Over each bar stands n, the functions of that decile in the study's sample.",
        alternative="Functions that fail in part or completely, by how often they are used: " + _worst(rows, "decile"),
        silent="No function of this campaign is in the study's sample with a case that passed or failed, so there "
        "are no deciles to draw: submit the suite `paper` to have them.",
    )


def failures_in_top20(charted: ReportData, table: Table) -> Figure:
    """Figure 5."""
    rows = list(_failures(charted, table))
    return figure(
        charted,
        table,
        "failures_in_top20",
        drawing=_drawn_bars(rows, FAILURES, "functions"),
        counted=COUNTED,
        alternative="Functions among the 20 most used that fail in part or completely: " + _worst(rows, None),
        silent="None of the 20 functions that the study found most used has a case here that passed or failed: submit "
        "the suite `paper` to have them.",
    )


def placement(charted: ReportData, table: Table) -> Figure:
    """What of that which passed was proven to run on the device."""
    rows = [
        {
            "who": label(charted, str(record["target"])),
            "verdict": words,
            "percent": percent_of(record[name]),
            "shown": text_of(record[name]),
            "n": size_of(record[name]),
            "order": place,
        }
        for record in table.records()
        if isinstance(record["on_device"], Rate)
        for place, (name, words) in enumerate(zip(PLACEMENTS, PLACED, strict=True))
    ]
    fallbacks = [row for row in rows if row["verdict"] == "fell back to the host"]
    return figure(
        charted,
        table,
        "placement",
        drawing=_drawn_bars(rows, PLACED, "cases that passed"),
        counted="A case fell back if any of its passed runs did. Functions that never touch a device are left out.",
        alternative="Cases that passed by falling back to the host: "
        + "; ".join(f"{row['who']} {row['shown']}" for row in fallbacks)
        + ".",
        silent="No case passed, so nothing is known of where cases ran.",
    )


def _drawn_bars(rows: Rows, colours: Mapping[str, str], counted: str) -> Spec | None:
    if not rows:
        return None
    sized = [{**row, "size": f"n {row['n']}"} if row["n"] else row for row in rows]
    return with_rows(_stacked_bars(distinct(rows, "who"), tuple(colours), tuple(colours.values()), counted), sized)


@specified
def _stacked_bars(targets: tuple[str, ...], parts: tuple[str, ...], colours: tuple[str, ...], counted: str) -> AnyChart:
    """The parts of a bar lie in their order, the interval of the first over it, n at its end."""
    y = alt.Y("who:N", title=None, sort=list(targets))
    axis = percent(counted)
    bars = (
        alt.Chart()
        .mark_bar(height=alt.RelativeBandSize(band=0.7))
        .encode(
            y=y,
            x=alt.X("percent:Q", stack="zero", **axis),
            order=alt.Order("order:O"),
            color=alt.Color("verdict:N", title=None, scale=categories(parts, colours), legend=alt.Legend(columns=3)),
            tooltip=[
                alt.Tooltip("who:N", title="target"),
                alt.Tooltip("verdict:N", title="part"),
                alt.Tooltip("shown:N", title=counted),
            ],
        )
    )
    sizes = (
        alt.Chart()
        .mark_text(align="left", dx=6, color=FAINT)
        .transform_filter("datum.order == 0 && isValid(datum.size)")
        .encode(y=y, x=alt.X(datum=100, type="quantitative", **axis), text="size:N")
    )
    return alt.layer(bars, *intervals(axis, light=5, y=y), sizes, data=ROWS).properties(width=520, height=alt.Step(24))


@specified
def _decile_panels(targets: tuple[str, ...]) -> AnyChart:
    """A panel for each target, with a bar for each decile of use and n over it."""
    x = alt.X("decile:O", title="decile of use (10: rarest, 100: most used)", axis=alt.Axis(labelAngle=0))
    axis = percent("functions that failed")
    bars = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=x,
            y=alt.Y("percent:Q", stack="zero", **axis),
            order=alt.Order("order:O"),
            color=alt.Color("verdict:N", title=None, scale=categories(tuple(FAILURES), tuple(FAILURES.values()))),
            tooltip=[
                alt.Tooltip("who:N", title="target"),
                alt.Tooltip("decile:O", title="decile"),
                alt.Tooltip("verdict:N", title="verdict"),
                alt.Tooltip("shown:N", title="functions"),
            ],
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


def _failures(charted: ReportData, table: Table, *more: str) -> Iterator[dict[str, Any]]:
    for record in table.records():
        rates = [record[verdict] for verdict in FAILURES]
        if not all(isinstance(rate, Rate) and rate.n for rate in rates):
            continue
        failed = sum(percent_of(rate) or 0.0 for rate in rates)
        for place, verdict in enumerate(FAILURES):
            yield {
                "who": _target_of(charted, record),
                "published": record["source"] != charted.name,
                "verdict": verdict,
                "percent": percent_of(record[verdict]),
                "shown": text_of(record[verdict]),
                "n": size_of(record[verdict]),
                "failed": failed,
                "order": place,
                **{name: record[name] for name in more},
            }


def _worst(rows: Rows, where: str | None) -> str:
    """The greatest share of each target, in words."""
    sentences = []
    for target in distinct(rows, "who"):
        worst = max((row for row in rows if row["who"] == target), key=lambda row: float(row["failed"]))
        place = f", most in decile {worst[where]}" if where and worst["failed"] else ""
        sentences.append(f"{target} {worst['failed']:.0f} %{place}")
    return "; ".join(sentences) + "."


def _target_of(charted: ReportData, record: Mapping[str, Cell]) -> str:
    """A target and the way of counting; a published one with its source."""
    name = str(record["target"])
    if record["source"] != charted.name:
        return f"{record['source']}: {name}"
    return f"{label(charted, name)} by {record['counted_by']}"
