"""The time of the first call with a second shape, in a process that has already run the function. It does no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from coordinator.figures.formats import latency


@dataclass(frozen=True)
class SecondShape:
    """The cost of a new shape for a function on a target, next to the cost of its first call."""

    shape_ms: float
    """The milliseconds of the first call with a second shape."""
    process_ms: float | None
    """The milliseconds of the first call in its process; None if not measured."""

    @property
    def sentence(self) -> str:
        """The two times as a sentence: ``a second shape takes 42 ms the first time; the first call in its process takes
        5 ms``."""
        first = "" if self.process_ms is None else f"; the first call in its process takes {latency(self.process_ms)}"
        return f"a second shape takes {latency(self.shape_ms)} the first time{first}"


def second_shape(first_calls: Iterable[tuple[bool, float | None]]) -> SecondShape | None:
    """Return the times over the cases of a function in one campaign; None if no second shape was measured.

    Each item is a case: whether the case has a second shape, and the milliseconds of its first call. With a second
    shape, this is the first call with this shape. Otherwise it is the first call in the case's process.
    """
    shapes_ms: list[float] = []
    processes_ms: list[float] = []
    for is_second, first_ms in first_calls:
        if first_ms is not None:
            (shapes_ms if is_second else processes_ms).append(first_ms)
    return SecondShape(median(shapes_ms), median(processes_ms) if processes_ms else None) if shapes_ms else None
