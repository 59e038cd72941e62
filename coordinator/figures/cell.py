"""The figures of a cell of the matrix: one function on one target.

The columns of ``matrix_cells``, the statement that fills them, REST and the CSV are made from these fields. A field has
the name of its view's column, and its docstring is its description over REST.
"""

from __future__ import annotations

from pydantic import BaseModel

from coordinator.figures.counting import Counted


class CountedFigures(BaseModel):
    """The figures that are counts of cases: of ``function_verdicts``, and in ``counts`` of ``function_counts``."""

    host_only: bool
    counts: Counted
    """The counts by counting rule; a function that never touches a device has none on the device."""
    skipped: int
    incomplete: int
    flaky: int
    fell_back: int
    not_counted_cause: str | None = None
    unknown_cause: int
    """Failed cases whose cause no rule knows."""
    host_work: int
    """Failed cases that are work of the host: data sets, strings, tables, files, prints."""
    lowered: int
    """Cases that were lowered for the target's platform, and not run."""
    not_lowered: int
    """Cases that compute something without a lowering there."""
    lowering: str | None = None
    """``lowered`` or ``not_lowered``, of a function that was lowered and not run, for want of a verdict."""
    missing_lowering: str | None = None
    """The operation that most of the cases without a lowering lack."""
    of_another_device: int
    """Failed cases that need a device that the target is not."""
    failed_inputs: list[str] | None = None
    """Kinds of input of the failed cases, each combination once; null where the suite does not say."""
    passed_inputs: list[str] | None = None
    accepted: int
    """Cases that returned a result where the host refuses the call: in no other count."""


class MeasuredFigures(BaseModel):
    """The figures that are latencies, of ``function_latencies``; null where nothing was measured."""

    cold_ms: float | None = None
    """The first call of a case: ``first_cold_ms`` and ``later_cold_ms`` mixed."""
    first_cold_ms: float | None = None
    """The first call of the first case of a process, with whatever a process does once."""
    later_cold_ms: float | None = None
    """The first call of a case after others of its process."""
    second_shape_ms: float | None = None
    """The first call in a second shape, in a process that has run the function already: the cost of a new shape beside
    ``first_cold_ms``."""
    low_ms: float | None = None
    """A call after warm-up, undisturbed: the level of a case is its best run's low quantile."""
    steady_ms: float | None = None
    """The median beside it."""
    noisy: int | None = None
    """Cases whose median is far above their level: it is the host's as much as the call's."""
    unconfirmed: bool | None = None
    """True if at least half of the cases have a level that no second run confirms; null if no case has a level."""
    iqr_ms: float | None = None
    samples: int | None = None
    """Samples behind ``steady_ms``, over all cases and runs."""


class ComparedFigures(BaseModel):
    """The figures that set a target beside its CPU target, of ``function_ratios``."""

    ratio_to_cpu: float | None = None
    """Geometric mean, over the cases that both measured, of the level here to that on the nearest CPU."""
    ratio_cases: int | None = None
    """The number of cases that both measured."""
    cpu_target_id: int | None = None
    """The target that ``ratio_to_cpu`` is against."""


class Figures(CountedFigures, MeasuredFigures, ComparedFigures):
    """All figures of a cell."""
