"""A second shape: the time of the first call in another shape, in a process that has run the function already. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from coordinator.figures.formats import latency


@dataclass(frozen=True)
class SecondShape:
    """The cost of a new shape for a function on a target, beside its first call."""

    shape_ms: float
    """The first call in a second shape."""
    process_ms: float | None
    """The first call in its process; None: not measured."""

    @property
    def sentence(self) -> str:
        """``a second shape takes 42 ms the first time; the first call in its process takes 5 ms``"""
        first = "" if self.process_ms is None else f"; the first call in its process takes {latency(self.process_ms)}"
        return f"a second shape takes {latency(self.shape_ms)} the first time{first}"


def second_shape(first_calls: Iterable[tuple[bool, float | None]]) -> SecondShape | None:
    """From the cases of a function in one chart: whether each is in a second shape, and the milliseconds of its first
    call there, or else in its process. None: no second shape was measured."""
    shapes_ms: list[float] = []
    processes_ms: list[float] = []
    for is_second, first_ms in first_calls:
        if first_ms is not None:
            (shapes_ms if is_second else processes_ms).append(first_ms)
    return SecondShape(median(shapes_ms), median(processes_ms) if processes_ms else None) if shapes_ms else None
