"""Small drawings inside a page: the samples of runs as dots on a logarithmic scale. It does no I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from coordinator.results.statistics import middle
from coordinator.web.filters import milliseconds

MOST_DOTS = 80
"""The maximum number of dots of one run. If there are more samples, every n-th is drawn, and the extremes."""
ROW = 14
EDGE = 6


@dataclass(frozen=True)
class PlotScale:
    """A logarithmic scale from ``low`` to ``high`` milliseconds."""

    low: float
    high: float

    def place(self, value: float, width: float) -> float:
        whole = math.log(self.high) - math.log(self.low)
        share = (math.log(value) - math.log(self.low)) / whole if whole > 0 else 0.5
        return EDGE + share * (width - 2 * EDGE)

    def at_least(self, times: float) -> PlotScale:
        """A scale whose end is at least this many times its beginning, so that small differences look small."""
        lacking = math.sqrt(max(times / (self.high / self.low), 1.0))
        return PlotScale(self.low / lacking, self.high * lacking)


def scale_of(runs: Iterable[Sequence[float]]) -> PlotScale | None:
    """A scale that fits all samples of these runs; None if there are no samples."""
    samples = [value for run in runs for value in run if value > 0]
    return PlotScale(min(samples), max(samples)) if samples else None


def strips(runs: Sequence[Sequence[float]], scale: PlotScale | None, width: int = 160) -> Markup | None:
    """One row of dots per run, with a line at its median; None if nothing was measured."""
    samples_by_run = {number: [value for value in run if value > 0] for number, run in enumerate(runs, 1)}
    samples_by_run = {number: values for number, values in samples_by_run.items() if values}
    if scale is None or not samples_by_run:
        return None
    height = ROW * len(runs)
    label = "; ".join(
        f"run {number}: {len(values)} sample{'' if len(values) == 1 else 's'}, median {milliseconds(middle(values))}"
        for number, values in samples_by_run.items()
    )
    dots = "".join(_strip(values, scale, width, (number - 0.5) * ROW) for number, values in samples_by_run.items())
    return Markup(
        '<svg class="strips" role="img" width="{0}" height="{1}" viewBox="0 0 {0} {1}" aria-label="{2}">{3}</svg>'
    ).format(width, height, label, Markup(dots))


def dot(value: float | None, scale: PlotScale | None, width: int = 120) -> Markup | None:
    """One value on a shared scale; None if there is no value or scale."""
    if scale is None or value is None or value <= 0:
        return None
    return Markup(
        '<svg class="strips dot" role="img" width="{0}" height="{1}" viewBox="0 0 {0} {1}" aria-label="{2}">'
        '<line x1="{3}" x2="{4}" y1="{5}" y2="{5}"/><circle cx="{6:.1f}" cy="{5}" r="3"/></svg>'
    ).format(width, ROW, milliseconds(value), EDGE, width - EDGE, ROW / 2, scale.place(value, width))


def thin(values: Sequence[float]) -> list[float]:
    """At most ``MOST_DOTS`` of the values, sorted. They include the smallest and the largest value."""
    by_size = sorted(values)
    if len(by_size) <= MOST_DOTS:
        return by_size
    return [by_size[round(step * (len(by_size) - 1) / (MOST_DOTS - 1))] for step in range(MOST_DOTS)]


def _strip(values: Sequence[float], scale: PlotScale, width: int, y: float) -> str:
    circles = "".join(f'<circle cx="{scale.place(value, width):.1f}" cy="{y:g}" r="2.2"/>' for value in thin(values))
    median = scale.place(middle(values) or scale.low, width)
    return f'{circles}<line x1="{median:.1f}" x2="{median:.1f}" y1="{y - 5:g}" y2="{y + 5:g}"/>'
