"""Small drawings inside a page: samples of runs as dots on one logarithmic scale. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from coordinator.results.statistics import middle
from coordinator.web.filters import milliseconds

MOST_DOTS = 80
"""Of one run; of more samples every so manieth is drawn, and the extremes."""
ROW = 14
EDGE = 6


@dataclass(frozen=True)
class Scale:
    """From ``low`` to ``high`` milliseconds, each step the same number of times the one before."""

    low: float
    high: float

    def place(self, value: float, width: float) -> float:
        whole = math.log(self.high) - math.log(self.low)
        share = (math.log(value) - math.log(self.low)) / whole if whole > 0 else 0.5
        return EDGE + share * (width - 2 * EDGE)

    def at_least(self, times: float) -> Scale:
        """One from whose beginning to its end it is so many times, so that small differences look small."""
        lacking = math.sqrt(max(times / (self.high / self.low), 1.0))
        return Scale(self.low / lacking, self.high * lacking)


def scale_of(runs: Iterable[Sequence[float]]) -> Scale | None:
    """One that all samples of these runs fit on; None if there is none."""
    measured = [value for run in runs for value in run if value > 0]
    return Scale(min(measured), max(measured)) if measured else None


def strips(runs: Sequence[Sequence[float]], scale: Scale | None, width: int = 220) -> Markup | None:
    """One row of dots a run, its median a line; None if nothing was measured."""
    if scale is None or not any(value > 0 for run in runs for value in run):
        return None
    height = ROW * len(runs)
    drawn = "".join(_strip(run, scale, width, number * ROW + ROW / 2) for number, run in enumerate(runs))
    return Markup(
        '<svg class="strips" role="img" width="{}" height="{}" viewBox="0 0 {} {}" aria-label="{}">{}</svg>'
    ).format(width, height, width, height, _said(runs), Markup(drawn))


def dot(value: float | None, scale: Scale | None, width: int = 120) -> Markup | None:
    """One value on a scale that it shares with others; None if there is none."""
    if scale is None or value is None or value <= 0:
        return None
    return Markup(
        '<svg class="strips dot" role="img" width="{0}" height="{1}" viewBox="0 0 {0} {1}" aria-label="{2}">'
        '<line x1="{3}" x2="{4}" y1="{5}" y2="{5}"/><circle cx="{6:.1f}" cy="{5}" r="3"/></svg>'
    ).format(width, ROW, milliseconds(value), EDGE, width - EDGE, ROW / 2, scale.place(value, width))


def thinned(values: Sequence[float], most: int = MOST_DOTS) -> list[float]:
    """In order of size; never more than ``most``, the least and the greatest among them."""
    ordered = sorted(value for value in values if value > 0)
    if len(ordered) <= most:
        return ordered
    return [ordered[round(step * (len(ordered) - 1) / (most - 1))] for step in range(most)]


def _strip(run: Sequence[float], scale: Scale, width: int, y: float) -> str:
    dots = thinned(run)
    if not dots:
        return ""
    circles = "".join(f'<circle cx="{scale.place(each, width):.1f}" cy="{y:g}" r="2.2"/>' for each in dots)
    middle = scale.place(_middle(run), width)
    return f'{circles}<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{y - 5:g}" y2="{y + 5:g}"/>'


def _said(runs: Sequence[Sequence[float]]) -> str:
    told = [
        f"run {number}: {len(run)} sample{'' if len(run) == 1 else 's'}, median {milliseconds(_middle(run))}"
        for number, run in enumerate(runs, 1)
        if any(value > 0 for value in run)
    ]
    return "; ".join(told)


def _middle(run: Sequence[float]) -> float:
    found = middle(value for value in run if value > 0)
    assert found is not None
    return found
