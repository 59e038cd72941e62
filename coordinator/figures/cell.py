"""The values of a matrix cell: one function on one target.

The columns of ``matrix_cells``, the statement that fills them, REST and the CSV are generated from these fields. A
field has the name of its view's column, and its docstring is its description in REST.
"""

from __future__ import annotations

from pydantic import BaseModel

from coordinator.figures.counting import Counted


class CountedFigures(BaseModel):
    """How many cases of a function had each result. The numbers come from the view ``function_verdicts``, except
    ``counts``, which comes from the view ``function_counts``."""

    host_only: bool
    counts: Counted
    """The counts by counting rule. A function that never uses a device has no counts by rules that depend on the
    device."""
    skipped: int
    incomplete: int
    flaky: int
    fell_back: int
    not_counted_cause: str | None = None
    unknown_cause: int
    """Failed cases whose cause is unknown to the rules."""
    host_work: int
    """Failed cases that are work of the host: data sets, strings, tables, files, prints."""
    lowered: int
    """Cases that were lowered for the target's platform and not run."""
    not_lowered: int
    """Cases that use an operation without a lowering for the target's platform."""
    lowering: str | None = None
    """``lowered`` or ``not_lowered``. It takes the place of the verdict for a function that was lowered and not run."""
    missing_lowering: str | None = None
    """The operation whose missing lowering affects the most cases."""
    of_another_device: int
    """Failed cases that need another device than the target's."""
    failed_inputs: list[str] | None = None
    """The kinds of input of the failed cases, without repetition; null if the suite does not declare them."""
    passed_inputs: list[str] | None = None
    accepted: int
    """Cases that returned a result where the host raises an error. No other count includes them."""


class MeasuredFigures(BaseModel):
    """The latencies, from ``function_latencies``; null if nothing was measured."""

    cold_ms: float | None = None
    """The first call of a case, whether the case was the first in its process or not."""
    first_cold_ms: float | None = None
    """The first call of a case that was the first in its process. It includes everything that a process does only
    once."""
    later_cold_ms: float | None = None
    """The first call of a case that ran after other cases in its process."""
    second_shape_ms: float | None = None
    """The first call with a second shape, in a process that has already run the function. Compared with
    ``first_cold_ms``, it is the cost of a new shape."""
    low_ms: float | None = None
    """An undisturbed call after warm-up. The level of a case is the low quantile of its best run."""
    steady_ms: float | None = None
    """The median of the same samples as ``low_ms``."""
    noisy: int | None = None
    """Cases whose median is far above their level, so that the host affects the median as much as the call does."""
    unconfirmed: bool | None = None
    """True if no second run confirms the level of at least half of the cases; null if no case has a level."""
    iqr_ms: float | None = None
    samples: int | None = None
    """The number of samples from which ``steady_ms`` was computed, over all cases and runs."""


class ComparedFigures(BaseModel):
    """The comparison of a target with its CPU target, from ``function_ratios``."""

    ratio_to_cpu: float | None = None
    """The geometric mean of the ratios of the level here to the level on the nearest CPU, over the cases that were
    measured on both."""
    ratio_cases: int | None = None
    """The number of cases that were measured on both targets."""
    cpu_target_id: int | None = None
    """The CPU target that ``ratio_to_cpu`` compares with."""


class Figures(CountedFigures, MeasuredFigures, ComparedFigures):
    """All values of a cell."""
