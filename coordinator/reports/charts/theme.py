"""The look of figures: the colors of the pages' style sheet, their dark counterparts, fonts. It does no I/O.

Specifications have light colors. ``dark`` replaces each of them with its dark counterpart. No figure relies on color
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from altair.theme import ConfigKwds

INK, FAINT, LINE, SHEET = "#16242e", "#51626e", "#d8cfb8", "#ffffff"
SUCCESS, PARTIAL, COMPLETE, QUIET = "#1565a8", "#9a6200", "#9b1c31", "#5f6b73"
SERIES = ("#0b4f7a", "#b45309", "#0f766e", "#9d174d", "#6d28d9", "#4d5b12")
"""The colors of series. With color blindness, series can be distinguished by their shape or dash, which always
differ."""
DARK = {
    INK: "#e6edf2",
    FAINT: "#a3b4c0",
    LINE: "#2b404e",
    SHEET: "#14242f",
    SUCCESS: "#6bb6f5",
    PARTIAL: "#f0b54a",
    COMPLETE: "#ff8a8f",
    QUIET: "#93a1ab",
    **dict(zip(SERIES, ("#7fc4f0", "#f59e42", "#5eead4", "#f9a8d4", "#c4b5fd", "#d9e57f"), strict=True)),
}
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ((1, 0), (6, 3), (2, 2), (9, 3, 2, 3), (12, 4), (4, 2, 1, 2))
FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"
CONFIG: ConfigKwds = {
    "background": SHEET,
    "font": FONT,
    "padding": 12,
    "view": {"stroke": LINE},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "tickColor": FAINT,
        "domainColor": FAINT,
        "gridColor": LINE,
        "gridOpacity": 0.6,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 420,
    },
    "header": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "labelFontWeight": "bold",
        "labelLimit": 420,
        "title": None,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": FAINT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 420,
        "orient": "bottom",
        "columns": 2,
        "symbolSize": 90,
    },
    "title": {
        "anchor": "start",
        "frame": "bounds",
        "color": INK,
        "subtitleColor": FAINT,
        "fontSize": 16,
        "subtitleFontSize": 11,
        "offset": 14,
        "subtitlePadding": 6,
    },
    "text": {"color": INK, "fontSize": 11},
}


def dark(spec: Any) -> Any:
    """The specification with the colors for a dark page."""
    if isinstance(spec, str):
        return DARK.get(spec, spec)
    if isinstance(spec, Mapping):
        # A column of data is not a color, even if its name is one.
        return {name: value if name == "values" else dark(value) for name, value in spec.items()}
    if isinstance(spec, Sequence):
        return [dark(member) for member in spec]
    return spec


def of_both(svg: str) -> str:
    """A picture in light colors that switches to dark colors on a device in dark mode."""
    rules = "".join(
        f'[{part}="{light}"]{{{part}:{night}}}' for light, night in DARK.items() for part in ("fill", "stroke")
    )
    opening, _, rest = svg.partition(">")
    rest = rest.replace(f'fill="{SHEET}"', 'fill="none"', 1) if rest.startswith("<rect") else rest
    return f"{opening}><style>@media (prefers-color-scheme:dark){{{rules}}}</style>{rest}"
