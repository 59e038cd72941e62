"""The shapes that figures are drawn in: bars, dots, lines and panels, as parts of a specification. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from coordinator.reports.charts.figure import (
    COMPLETE,
    DASHES,
    FAINT,
    INK,
    PARTIAL,
    SERIES,
    SHAPES,
    SHEET,
    SUCCESS,
    Spec,
    logarithmic_ms,
    percent,
)

Rows = list[dict[str, Any]]
"""What is drawn: one object a mark."""
OWN_AXES = {"axis": {"x": "independent", "y": "independent"}}
"""Each panel shows its own: the last row of panels may be short."""
VERDICTS = {"success": SUCCESS, "partial": PARTIAL, "complete": COMPLETE}


def stacked(rows: Rows, who: str, part: str, colours: Mapping[str, str], what: str) -> Spec:
    """One bar a row that adds up, the parts in their order, the interval of the first over it, n at its end."""
    names = list(dict.fromkeys(row[who] for row in rows))
    x = percent(what)
    y = {"field": who, "type": "nominal", "title": None, "sort": names}
    bars = {
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {
            "y": y,
            "x": {"field": "percent", "stack": "zero", **x},
            "order": {"field": "order", "type": "ordinal"},
            "color": {
                "field": part,
                "type": "nominal",
                "title": None,
                "scale": {"domain": list(colours), "range": list(colours.values())},
                "legend": {"columns": 3},
            },
            "tooltip": [
                {"field": who, "title": "target"},
                {"field": part, "title": "part"},
                {"field": "shown", "title": what},
            ],
        },
    }
    layers: list[Spec] = [bars]
    if any("low" in row for row in rows):
        # On a bar of any colour a line is seen by the light around it.
        layers += [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "color": colour, "strokeWidth": width},
                "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}},
            }
            for colour, width in ((SHEET, 5), (INK, 1.5))
        ]
    if any(row.get("n") for row in rows):
        layers.append(
            {
                "transform": [{"filter": "datum.order == 0 && isValid(datum.n)"}],
                "mark": {"type": "text", "align": "left", "dx": 6, "color": FAINT},
                "encoding": {
                    "y": y,
                    "x": {"datum": 100, **x},
                    "text": {"field": "said_n", "type": "nominal"},
                },
            }
        )
    values = [{**row, **({"said_n": f"n {row['n']}"} if row.get("n") else {})} for row in rows]
    return {"data": {"values": values}, "width": 520, "height": {"step": 24}, "layer": layers}


def deciles(rows: Rows) -> Spec:
    x = {
        "field": "decile",
        "type": "ordinal",
        "title": "decile of use (10: rarest)",
        "axis": {"labelAngle": 0},
    }
    words = {word: VERDICTS[word] for word in ("partial", "complete")}
    y = percent("functions that failed")
    return {
        "data": {"values": rows},
        "facet": {
            "field": "who",
            "type": "nominal",
            "title": None,
            "sort": list(dict.fromkeys(row["who"] for row in rows)),
        },
        "columns": 2,
        "resolve": OWN_AXES,
        "spec": {
            "width": 300,
            "height": 120,
            "layer": [
                {
                    "mark": {"type": "bar"},
                    "encoding": {
                        "x": x,
                        "y": {"field": "percent", "stack": "zero", **y},
                        "order": {"field": "order", "type": "ordinal"},
                        "color": {
                            "field": "verdict",
                            "type": "nominal",
                            "title": None,
                            "scale": {"domain": list(words), "range": list(words.values())},
                        },
                        "tooltip": [
                            {"field": "who", "title": "target"},
                            {"field": "decile", "title": "decile"},
                            {"field": "verdict", "title": "verdict"},
                            {"field": "shown", "title": "functions"},
                        ],
                    },
                },
                {
                    "transform": [{"filter": "datum.order == 1"}],
                    "mark": {"type": "text", "baseline": "bottom", "dy": -2, "color": FAINT, "fontSize": 10},
                    "encoding": {
                        "x": x,
                        "y": {"field": "failed", **y},
                        "text": {"field": "n", "type": "quantitative"},
                    },
                },
            ],
        },
    }


def grouped(rows: Rows) -> Spec:
    ways = sorted({row["counted_by"] for row in rows})
    x = percent("functions that failed")
    causes_ = sorted({row["cause"] for row in rows}, key=lambda each: -max(_percents(rows, each)))
    y = {"field": "cause", "type": "nominal", "title": None, "sort": causes_}
    offset = {"field": "counted_by", "type": "nominal", "sort": ways}
    return {
        "data": {"values": rows},
        "facet": {
            "field": "target",
            "type": "nominal",
            "title": None,
            "sort": list(dict.fromkeys(row["target"] for row in rows)),
        },
        "columns": 2,
        "resolve": OWN_AXES,
        "spec": {
            "width": 300,
            "height": {"step": 13},
            "layer": [
                {
                    "mark": {"type": "bar", "stroke": INK, "strokeWidth": 0.6},
                    "encoding": {
                        "y": y,
                        "yOffset": offset,
                        "x": {"field": "percent", **x},
                        "color": {
                            "field": "counted_by",
                            "type": "ordinal",
                            "title": None,
                            "scale": {"domain": ways, "range": list(SERIES[: len(ways)])},
                        },
                        "fillOpacity": {
                            "field": "counted_by",
                            "type": "ordinal",
                            "title": None,
                            "scale": {"domain": ways, "range": [1, 0.45][: len(ways)]},
                        },
                        "tooltip": [
                            {"field": "target"},
                            {"field": "counted_by", "title": "counted"},
                            {"field": "cause"},
                            {"field": "shown", "title": "functions"},
                        ],
                    },
                },
                {
                    "mark": {"type": "rule", "color": INK},
                    "encoding": {"y": y, "yOffset": offset, "x": {"field": "low", **x}, "x2": {"field": "high"}},
                },
            ],
        },
    }


def against(rows: Rows, panel: str, across: str, up: str, factor: float) -> Spec:
    values = [float(row[axis]) for row in rows for axis in ("x", "y")]
    low, high = 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values) * 1.0001))
    x, y = logarithmic_ms(across, low, high), logarithmic_ms(up, low, high)
    names = list(dict.fromkeys(row[panel] for row in rows))

    def diagonal(times: float, dash: Sequence[int]) -> Spec:
        # Clipped to the panel by hand: an end beyond the scale would be drawn there.
        ends = [{"x": low, "y": low * times}, {"x": high / times, "y": high}]
        return {
            "data": {"values": ends if high / times > low else []},
            "mark": {"type": "line", "color": FAINT, "strokeDash": list(dash), "strokeWidth": 1},
            "encoding": {"x": {"field": "x", **x}, "y": {"field": "y", **y}},
        }

    points = {
        "mark": {"type": "point", "filled": True, "size": 36, "opacity": 0.75},
        "encoding": {
            "x": {"field": "x", **x},
            "y": {"field": "y", **y},
            "color": {
                "field": "published",
                "legend": None,
                "scale": {"domain": [False, True], "range": list(SERIES[:2])},
            },
            "shape": {
                "field": "published",
                "legend": None,
                "scale": {"domain": [False, True], "range": list(SHAPES[:2])},
            },
            "tooltip": [
                {"field": "function"},
                {"field": "x", "title": f"{across} (ms)", "format": ".3g"},
                {"field": "y", "title": f"{up} (ms)", "format": ".3g"},
            ],
        },
    }
    return {
        "data": {"values": rows},
        "facet": {"field": panel, "type": "nominal", "title": None, "sort": names},
        "columns": 2,
        "resolve": OWN_AXES,
        "spec": {"width": 320, "height": 320, "layer": [diagonal(1, (1, 0)), diagonal(factor, (5, 4)), points]},
    }


def lines(rows: Rows, names: Sequence[str]) -> Spec:
    several = len(names)
    return {
        "data": {"values": rows},
        "facet": {"field": "framework", "type": "nominal", "title": None},
        "columns": 2,
        "resolve": OWN_AXES,
        "spec": {
            "width": 340,
            "height": 220,
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {
                "x": {
                    "field": "milliseconds",
                    **logarithmic_ms(
                        "latency",
                        min(float(row["milliseconds"]) for row in rows),
                        max(float(row["milliseconds"]) for row in rows),
                    ),
                },
                "y": {"field": "density", "type": "quantitative", "title": "functions per decade (share)"},
                "color": {
                    "field": "target",
                    "type": "nominal",
                    "title": None,
                    "scale": {"domain": list(names), "range": _cycled(SERIES, several)},
                },
                "strokeDash": {
                    "field": "target",
                    "type": "nominal",
                    "title": None,
                    "scale": {"domain": list(names), "range": _cycled(DASHES, several)},
                },
                "tooltip": [
                    {"field": "target"},
                    {"field": "milliseconds", "title": "latency (ms)", "format": ".3g"},
                    {"field": "functions", "title": "n"},
                ],
            },
        },
    }


def dots(rows: Rows, parts: dict[str, str], title: str) -> Spec:
    names = list(dict.fromkeys(row["pair"] for row in rows))
    words = list(parts.values())
    x = percent(title)
    y = {"field": "pair", "type": "nominal", "title": None, "sort": names}
    offset = {"field": "part", "type": "nominal", "sort": words}
    drawn = {
        "y": y,
        "yOffset": offset,
        "color": {
            "field": "part",
            "type": "nominal",
            "title": None,
            "scale": {"domain": words, "range": list(SERIES[: len(words)]) if len(words) > 1 else [COMPLETE]},
            **({} if len(words) > 1 else {"legend": None}),
        },
    }
    return {
        "data": {"values": rows},
        "width": 520,
        "height": {"step": 18 if len(words) > 1 else 26},
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {**drawn, "x": {"field": "low", **x}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                "encoding": {
                    **drawn,
                    "x": {"field": "percent", **x},
                    "shape": {
                        "field": "part",
                        "type": "nominal",
                        "title": None,
                        "scale": {"domain": words, "range": list(SHAPES[: len(words)])},
                        **({} if len(words) > 1 else {"legend": None}),
                    },
                    "tooltip": [
                        {"field": "pair", "title": "from → to"},
                        {"field": "part", "title": "which"},
                        {"field": "shown", "title": "functions"},
                    ],
                },
            },
        ],
    }


def means(rows: Rows) -> Spec:
    names = list(dict.fromkeys(row["pair"] for row in rows))
    values = [float(each) for row in rows for each in (row["ratio"], row["low"], row["high"]) if each]
    x = {
        "type": "quantitative",
        "title": "times as long (geometric mean, logarithmic)",
        "scale": {"type": "log", "domain": [min(0.5, min(values) / 1.3), max(2.0, max(values) * 1.3)], "nice": False},
        "axis": {"format": "~g", "tickCount": 6},
    }
    y = {"field": "pair", "type": "nominal", "title": None, "sort": names}
    return {
        "data": {"values": rows},
        "width": 520,
        "height": {"step": 26},
        "layer": [
            {
                "data": {"values": [{"one": 1}]},
                "mark": {"type": "rule", "color": FAINT, "strokeDash": [5, 4]},
                "encoding": {"x": {"field": "one", **x}},
            },
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "color": INK, "strokeWidth": 2},
                "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "color": SERIES[0], "opacity": 1},
                "encoding": {
                    "y": y,
                    "x": {"field": "ratio", **x},
                    "tooltip": [
                        {"field": "pair", "title": "from → to"},
                        {"field": "ratio", "title": "times as long", "format": ".3g"},
                        {"field": "n", "title": "functions"},
                    ],
                },
            },
        ],
    }


def _percents(rows: Rows, cause: str) -> list[float]:
    return [float(row["percent"]) for row in rows if row["cause"] == cause]


def _cycled(values: Sequence[Any], length: int) -> list[Any]:
    return [values[place % len(values)] for place in range(length)]
