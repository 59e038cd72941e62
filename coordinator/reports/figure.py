"""What a figure is: a Vega-Lite specification, or a sentence why there is none, and all that must stand with it. Pure.

Specifications are drawn in light colours; ``dark`` trades each for its counterpart. The colours are
those of the pages' sheet. No figure tells things apart by colour alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coordinator.reports.table import Table
from coordinator.results.report_data import Charted

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.json"
"""Which language the specification is in. Nobody fetches it."""

INK, FAINT, LINE, SHEET = "#16242e", "#51626e", "#d8cfb8", "#ffffff"
SUCCESS, PARTIAL, COMPLETE, QUIET = "#1565a8", "#9a6200", "#9b1c31", "#5f6b73"
SERIES = ("#0b4f7a", "#b45309", "#0f766e", "#9d174d", "#6d28d9", "#4d5b12")
"""Told apart by every kind of colour blindness only together with a shape or a dash, which go with them."""
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
WIDE = 110
"""Letters of a line under a title."""

CONFIG: Spec = {
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


@dataclass(frozen=True)
class Figure:
    id: str
    """Stable: ``scatter``."""
    title: str
    subtitle: tuple[str, ...]
    """What is counted, over how many, and what must be said of the targets."""
    alternative: str
    """One sentence for who cannot see it."""
    table: str
    """The table that holds its numbers."""
    remade_from: tuple[str, ...]
    notes: tuple[str, ...]
    bare: Spec | None
    """Without its title, for a page that says it; None where there is nothing to draw."""
    silent: str = ""
    """Why there is nothing to draw, and what would change that."""

    @property
    def spec(self) -> Spec | None:
        """The whole figure, as it goes out alone."""
        if self.bare is None:
            return None
        subtitle = [line for said in self.subtitle for line in textwrap.wrap(said, WIDE)]
        return {**self.bare, "title": {"text": self.title, "subtitle": subtitle}, "description": self.alternative}


def figure(
    charted: Charted,
    table: Table,
    id: str,
    *,
    drawing: Spec | None,
    counted: str,
    alternative: str,
    silent: str = "",
    title: str | None = None,
) -> Figure:
    """``drawing`` is a specification without its frame, whose data say what of them was published.

    ``counted`` says over what, and how, in a sentence.
    """
    bare = None if drawing is None else {"$schema": SCHEMA, "config": CONFIG, **drawing}
    return Figure(
        id=id,
        title=title or table.title,
        subtitle=(*_nothing_own(charted, drawing), f"{_whose(charted)}{counted}", *_of_targets(charted)),
        alternative=alternative if bare is not None else silent,
        table=table.id,
        remade_from=table.remade_from,
        notes=table.notes,
        bare=bare,
        silent="" if bare is not None else silent,
    )


def dark(spec: Any) -> Any:
    """The same for a dark page."""
    if isinstance(spec, str):
        return DARK.get(spec, spec)
    if isinstance(spec, Mapping):
        # What was measured is not a colour, whatever it is called.
        return {name: each if name == "values" else dark(each) for name, each in spec.items()}
    if isinstance(spec, Sequence):
        return [dark(each) for each in spec]
    return spec


def of_both(svg: str) -> str:
    """A light picture that turns dark where its reader's device is, without a background of its own."""
    rules = "".join(
        f'[{part}="{light}"]{{{part}:{night}}}' for light, night in DARK.items() for part in ("fill", "stroke")
    )
    opening, _, rest = svg.partition(">")
    rest = rest.replace(f'fill="{SHEET}"', 'fill="none"', 1) if rest.startswith("<rect") else rest
    return f"{opening}><style>@media (prefers-color-scheme:dark){{{rules}}}</style>{rest}"


def percent(title: str, **more: Any) -> Spec:
    """An axis from nothing to all."""
    return {
        "type": "quantitative",
        "title": f"{title} (%)",
        "scale": {"domain": [0, 100], "nice": False},
        "axis": {"values": [0, 20, 40, 60, 80, 100], "format": "d"},
        **more,
    }


def logarithmic_ms(title: str, low: float, high: float) -> Spec:
    return {
        "type": "quantitative",
        "title": f"{title} (ms, logarithmic)",
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {"format": "~g", "tickCount": 5, "labelFlush": False, "labelOverlap": True},
    }


def label(charted: Charted, name: str) -> str:
    """A target's name in a figure: a simulated one says so wherever it stands."""
    simulated = {charted.labels[each.id] for each in charted.targets if each.simulated}
    return f"{name} (simulated)" if name in simulated else name


def _nothing_own(charted: Charted, drawing: Spec | None) -> tuple[str, ...]:
    """A picture of the study must not be taken for one of the campaign."""
    if drawing is None or not charted.targets or not all(row.get("published") for row in drawing["data"]["values"]):
        return ()
    return (f"Of {charted.name} itself there is nothing to draw yet: all that is shown was published.",)


def _whose(charted: Charted) -> str:
    beside = f", beside {charted.reference.name}" if charted.reference else ""
    if not charted.targets:
        return f"{charted.reference.name}. " if charted.reference else ""
    revisions = sorted({f"{each.suite} {each.suite_revision[:12]}" for each in charted.targets})
    return f"{charted.name.capitalize()}{beside}; suite {', '.join(revisions)}. "


def _of_targets(charted: Charted) -> tuple[str, ...]:
    return tuple(
        f"{charted.labels[each.id]}: {'; '.join(each.sentences)}." for each in charted.targets if each.sentences
    )
