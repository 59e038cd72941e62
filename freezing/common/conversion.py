"""Conversion of floats to whole numbers: what is beyond the integer type, or a fraction, makes no determined result.

C leaves a number beyond the type open, and so does the documentation of each framework: one processor wraps it around,
another gives the nearest that the type holds. A function that computes whole numbers from whole numbers, and whose
result on floats is a fraction (an interpolation), may cut or round it. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runners.suite.checks import Leaf

Array = np.ndarray[Any, Any]
FIRST, COUNT = 3, 7
"""The numbers of a probe, each with a half behind it: every integer type holds them, and none is its own place."""
FRACTION = "its result on floats is a fraction, which each library makes a whole number in its own way"
LEAST_FRACTION = 1e-3


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


def are_whole(dtype: str, results: Sequence[Leaf]) -> bool:
    """Whether a case of whole numbers returns any."""
    return dtype.lstrip("u").startswith("int") and any(one.values.dtype.kind in "iu" for one in results)


def as_floats(dtype: str, arrays: Sequence[Any]) -> list[Any]:
    """The arrays of an integer dtype as floats, and all others as they are."""
    return [array.astype(np.float64) if str(array.dtype) == dtype else array for array in arrays]


def has_fraction(results: Sequence[Leaf], float_results: Sequence[Leaf]) -> bool:
    """Whether floats have a fraction where the same call of whole numbers returned one of these."""
    return any(
        one.values.dtype.kind in "iu"
        and other.values.dtype.kind == "f"
        and one.values.shape == other.values.shape
        and _is_fraction(other.values)
        for one, other in zip(results, float_results)
    )


def _is_fraction(values: Array) -> bool:
    finite = values[np.isfinite(values)].astype(np.float64)
    return bool((np.abs(finite - np.rint(finite)) > LEAST_FRACTION).any())
