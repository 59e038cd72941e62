"""Charts become Vega-Lite specifications here, validated by Altair; with the parts that several charts share. Pure.

Altair takes a third of a second to import and 20 ms to build and validate a chart. So the modules that
import this one are imported where figures are made, and a chart is built once for all campaigns that give
it the same labels and limits: its rows are put in afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

import altair as alt

from coordinator.reports.charts.figure import Rows, Spec
from coordinator.reports.charts.theme import CONFIG, INK, SHEET

P = ParamSpec("P")
Channel = TypeVar("Channel")
AnyChart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart
KEPT = 64
"""The maximum number of specifications of one kind of chart; the least recently used are dropped first."""
ROWS = alt.NamedData(name="rows")
"""Placeholder in a chart for rows that come later."""


@alt.theme.register("portolan", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    return {"config": CONFIG}


def chart_of_rows(build: Callable[P, AnyChart]) -> Callable[Concatenate[Rows, P], Spec | None]:
    """Let the chart that ``build`` makes take its rows first; without any row there is none.

    The specification of each chart is kept by its arguments, so nobody may change it in place. Its rows stand in it:
    nothing is fetched to draw it.
    """

    def build_specification(*arguments: P.args, **named: P.kwargs) -> Spec:
        spec: Spec = build(*arguments, **named).to_dict()
        return spec

    specification = cast(Callable[P, Spec], lru_cache(maxsize=KEPT)(build_specification))

    def with_rows(rows: Rows, /, *arguments: P.args, **named: P.kwargs) -> Spec | None:
        return {**specification(*arguments, **named), "data": {"values": rows}} if rows else None

    return with_rows


def panels(panel: alt.Chart | alt.LayerChart, by: str, names: tuple[str, ...] = ()) -> alt.FacetChart:
    """One panel for each of the names, two abreast."""
    facet = alt.Facet(by, title=None, sort=list(names)) if names else alt.Facet(by, title=None)
    # Each panel shows its axes: the last row of panels may be short.
    chart: alt.FacetChart = panel.facet(facet, columns=2, data=ROWS).resolve_axis(x="independent", y="independent")
    return chart


def interval(axis: dict[str, Any], *, width: float = 2, colour: Any = alt.Undefined, **place: Any) -> alt.Chart:
    """A line from low to high, if both are known."""
    chart: alt.Chart = (
        alt.Chart()
        .mark_rule(strokeWidth=width, color=colour)
        .transform_filter("isValid(datum.low)")
        .encode(**place, x=alt.X("low:Q", **axis), x2="high")
    )
    return chart


def intervals_on_bars(axis: dict[str, Any], *, light: float, **place: Any) -> list[alt.Chart]:
    """Lines from low to high: on a bar of any colour a line is seen by the ``light`` around it, in pixels."""
    return [interval(axis, width=width, colour=colour, **place) for colour, width in ((SHEET, light), (INK, 1.5))]


def dots(x: alt.X, tooltip: list[alt.Tooltip], *, colour: Any = alt.Undefined, **encoding: Any) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart().mark_point(filled=True, size=90, opacity=1, color=colour).encode(**encoding, x=x, tooltip=tooltip)
    )
    return chart


def percent(title: str) -> dict[str, Any]:
    """An axis from 0 to 100 %."""
    return {
        "title": f"{title} (%)",
        "scale": alt.Scale(domain=[0, 100], nice=False),
        "axis": alt.Axis(values=[0, 20, 40, 60, 80, 100], format="d"),
    }


def logarithmic(title: str, low: float, high: float, **axis: Any) -> dict[str, Any]:
    return {
        "title": f"{title}, logarithmic)",
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(format="~g", **axis),
    }


def logarithmic_ms(title: str, low: float, high: float) -> dict[str, Any]:
    """An axis of latencies, which span many powers of ten."""
    return logarithmic(f"{title} (ms", low, high, tickCount=5, labelFlush=False, labelOverlap=True)


def by_name(
    channel: Callable[..., Channel], field: str, names: Sequence[str | bool], values: Sequence[Any], **more: Any
) -> Channel:
    """Encode a field so that each name has its own colour, shape or dash: the first of the values, and so on."""
    scale = alt.Scale(domain=list(names), range=list(values[: len(names)]))
    return channel(field, title=None, scale=scale, **more)


def tooltips(**titles: str) -> list[alt.Tooltip]:
    """The tooltips of a mark: the names and sentences in these fields, each under its title."""
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]
