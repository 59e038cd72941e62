"""Turns charts into Vega-Lite specifications, validated by Altair, and builds parts that several charts share. It does
no I/O.

Importing Altair takes a third of a second, and building and validating a chart takes 20 ms. So modules that import this
module are imported only where figures are made. A chart is built once for all campaigns with equal labels and limits,
and the rows are inserted afterwards.
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
"""The placeholder in a chart for rows that are inserted later."""


@alt.theme.register("portolan", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    return {"config": CONFIG}


def chart_of_rows(build: Callable[P, AnyChart]) -> Callable[Concatenate[Rows, P], Spec | None]:
    """Turn ``build``, which makes a chart without rows, into a function that also takes the rows and returns the
    specification.

    Without rows it returns None. Specifications are cached by the arguments, so they must not be changed in place. The
    rows are inside the specification, so nothing is fetched to draw it.
    """

    def build_specification(*arguments: P.args, **named: P.kwargs) -> Spec:
        spec: Spec = build(*arguments, **named).to_dict()
        return spec

    specification = cast(Callable[P, Spec], lru_cache(maxsize=KEPT)(build_specification))

    def with_rows(rows: Rows, /, *arguments: P.args, **named: P.kwargs) -> Spec | None:
        return {**specification(*arguments, **named), "data": {"values": rows}} if rows else None

    return with_rows


def panels(panel: alt.Chart | alt.LayerChart, by: str, names: tuple[str, ...] = ()) -> alt.FacetChart:
    """One panel for each name, two per row."""
    facet = alt.Facet(by, title=None, sort=list(names)) if names else alt.Facet(by, title=None)
    # Each panel shows its axes: the last row of panels may be short.
    chart: alt.FacetChart = panel.facet(facet, columns=2, data=ROWS).resolve_axis(x="independent", y="independent")
    return chart


def interval(axis: dict[str, Any], *, width: float = 2, colour: Any = alt.Undefined, **place: Any) -> alt.Chart:
    """A line from the low to the high bound. Nothing is drawn if a bound is unknown."""
    chart: alt.Chart = (
        alt.Chart()
        .mark_rule(strokeWidth=width, color=colour)
        .transform_filter("isValid(datum.low)")
        .encode(**place, x=alt.X("low:Q", **axis), x2="high")
    )
    return chart


def intervals_on_bars(axis: dict[str, Any], *, light: float, **place: Any) -> list[alt.Chart]:
    """Lines for the intervals of bars. Each line has an outline of ``light`` pixels, which makes it visible on any
    color."""
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
    """A logarithmic axis for latencies."""
    return logarithmic(f"{title} (ms", low, high, tickCount=5, labelFlush=False, labelOverlap=True)


def by_name(
    channel: Callable[..., Channel], field: str, names: Sequence[str | bool], values: Sequence[Any], **more: Any
) -> Channel:
    """Encode a field so that each name has its own color, shape or dash. ``values`` has the color, shape or dash of
    each name, in the same order."""
    scale = alt.Scale(domain=list(names), range=list(values[: len(names)]))
    return channel(field, title=None, scale=scale, **more)


def tooltips(**titles: str) -> list[alt.Tooltip]:
    """The tooltips of a mark: each field with its title."""
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]
