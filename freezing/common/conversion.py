"""Conversion of floats to whole numbers: of a number beyond the integer type no result is determined.

C leaves it open, and so does the documentation of each framework: one processor wraps the number around, another gives
the nearest that the type holds. Pure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FIRST, COUNT = 3, 7
"""The numbers of a probe, each with a half behind it: every integer type holds them, and none is its own place."""


def holds(dtype: str, values: Array) -> bool:
    """Whether an integer type holds every one of these floats, when it is cut to a whole number."""
    limits = np.iinfo(dtype)
    whole = np.trunc(values.astype(np.float64))
    return bool((np.isfinite(whole) & (whole >= limits.min) & (whole < float(limits.max) + 1)).all())


def probe(values: Array) -> Array:
    """An array of the same shape and dtype, of numbers that every integer type holds."""
    numbers = (np.arange(values.size) + FIRST) % COUNT + 0.5
    return numbers.reshape(values.shape).astype(values.dtype)


def is_converted(values: Array, result: Array) -> bool:
    """Whether a result is an array of floats cut to whole numbers."""
    return result.dtype.kind in "iu" and np.array_equal(result, np.trunc(values))
