"""Conversion of floats to integers. The result may be undetermined for two reasons. Pure.

1. The integer type cannot represent the float. C and the frameworks' documentation then leave the result undefined: one
   processor wraps around, another saturates.
2. A function of integers has a fraction as its exact result, for example an interpolation. The function may truncate or
   round the fraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runners.suite.checks import Leaf

Array = np.ndarray[Any, Any]
FIRST, COUNT = 3, 7
"""A probe consists of the numbers 0.5 to 6.5, starting at 3.5. Every integer type can represent them, and no number
equals its index."""
FRACTION = "its result on floats is a fraction, which each library makes a whole number in its own way"
LEAST_FRACTION = 1e-3


def holds(dtype: str, values: Array) -> bool:
    """Whether an integer type can represent each of these floats after truncation."""
    limits = np.iinfo(dtype)
    whole = np.trunc(values.astype(np.float64))
    return bool((np.isfinite(whole) & (whole >= limits.min) & (whole < float(limits.max) + 1)).all())


def probe(values: Array) -> Array:
    """Return an array of the same shape and dtype, with numbers that every integer type can represent."""
    numbers = (np.arange(values.size) + FIRST) % COUNT + 0.5
    return numbers.reshape(values.shape).astype(values.dtype)


def is_converted(values: Array, result: Array) -> bool:
    """Whether a result consists of these floats, truncated to integers."""
    return result.dtype.kind in "iu" and np.array_equal(result, np.trunc(values))


def are_whole(dtype: str, results: Sequence[Leaf]) -> bool:
    """Whether a case has an integer dtype and returns an integer array."""
    return dtype.lstrip("u").startswith("int") and any(one.values.dtype.kind in "iu" for one in results)


def as_floats(dtype: str, arrays: Sequence[Any]) -> list[Any]:
    """Convert the arrays of this integer dtype to float64, and leave the others as they are."""
    return [array.astype(np.float64) if str(array.dtype) == dtype else array for array in arrays]


def has_fraction(results: Sequence[Leaf], float_results: Sequence[Leaf]) -> bool:
    """Whether a call with floats returns a fraction where the same call with integers returned an integer array."""
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
