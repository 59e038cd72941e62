"""Charts become Vega-Lite specifications here, validated by Altair; with the axes that several charts share. Pure.

Altair takes a third of a second to import and 20 ms to build and validate a chart. So the modules that
import this one are imported where figures are made, and a chart is built once for all campaigns that give
it the same labels and limits: its rows are put in afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, ParamSpec, TypeAlias, cast

import altair as alt

from coordinator.reports.charts.figure import Rows, Spec
from coordinator.reports.charts.theme import CONFIG, INK, SHEET

P = ParamSpec("P")
AnyChart: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart
KEPT = 64
"""Specifications of one kind of chart; the ones that were not used for longest go first."""
ROWS = alt.NamedData(name="rows")
"""Stands in a chart for rows that are not known yet."""


@alt.theme.register("portolan", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    return {"config": CONFIG}


def specified(build: Callable[P, AnyChart]) -> Callable[P, Spec]:
    """Keep the specification of each chart that ``build`` makes, by its arguments. Nobody may change it in place."""

    @lru_cache(maxsize=KEPT)
    def specification(*arguments: P.args, **named: P.kwargs) -> Spec:
        spec: Spec = build(*arguments, **named).to_dict()
        return spec

    return cast(Callable[P, Spec], specification)


def with_rows(spec: Spec, rows: Rows) -> Spec:
    """The rows stand in the specification itself: nothing is fetched to draw it."""
    return {**spec, "data": {"values": rows}}


def panels(panel: alt.Chart | alt.LayerChart, by: str, names: tuple[str, ...] = ()) -> alt.FacetChart:
    """One panel for each of the names, two abreast."""
    facet = alt.Facet(by, title=None, sort=list(names)) if names else alt.Facet(by, title=None)
    # Each panel shows its axes: the last row of panels may be short.
    chart: alt.FacetChart = panel.facet(facet, columns=2, data=ROWS).resolve_axis(x="independent", y="independent")
    return chart


def intervals(axis: dict[str, Any], *, light: float, **place: Any) -> list[alt.Chart]:
    """Lines from low to high: on a bar of any colour a line is seen by the ``light`` around it, in pixels."""
    return [
        alt.Chart()
        .mark_rule(color=colour, strokeWidth=width)
        .transform_filter("isValid(datum.low)")
        .encode(**place, x=alt.X("low:Q", **axis), x2="high")
        for colour, width in ((SHEET, light), (INK, 1.5))
    ]


def percent(title: str) -> dict[str, Any]:
    """An axis from nothing to all."""
    return {
        "title": f"{title} (%)",
        "scale": alt.Scale(domain=[0, 100], nice=False),
        "axis": alt.Axis(values=[0, 20, 40, 60, 80, 100], format="d"),
    }


def logarithmic_ms(title: str, low: float, high: float) -> dict[str, Any]:
    """An axis of latencies, which lie over many powers of ten."""
    return {
        "title": f"{title} (ms, logarithmic)",
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(format="~g", tickCount=5, labelFlush=False, labelOverlap=True),
    }


def categories(names: tuple[str | bool, ...], values: tuple[Any, ...]) -> alt.Scale:
    """Each name has its own colour, shape or dash."""
    return alt.Scale(domain=list(names), range=list(values))
