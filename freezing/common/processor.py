"""Processor: results that another processor may give otherwise, so that a device accuses nobody by them. Pure.

A sum is rounded in the order in which a processor adds, and the sign of a zero that such a sum leaves is chance. Where
the host's own result is already far from its reference, or a zero's sign decides the result of a call far out, the next
processor's may be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runners.suite.checks import Leaf, Tolerance

Array = np.ndarray[Any, Any]
LARGEST_SHARE = 0.2
"""Of a tolerance: more of it than the host's result takes, another processor's may take twice and again."""
TOO_FAR = "its result on the CPU takes more than a fifth of its tolerance, and another processor rounds otherwise"
ELSEWHERE = (
    "a processor that rounds each step, joins elements in another order or has more threads gives another result"
)
BY_A_ZERO = "the sign of a zero decides its result"


def share_of(tolerance: Tolerance, results: Sequence[Leaf], references: Sequence[Array]) -> float:
    """The largest difference of finite floats, as a share of the tolerance; 0 if there are none."""
    return max(map(lambda one, other: _largest_share(tolerance, one.values, other), results, references), default=0.0)


def _largest_share(tolerance: Tolerance, result: Array, reference: Array) -> float:
    if reference.dtype.kind not in "fc" or result.shape != reference.shape:
        return 0.0
    both = np.isfinite(result) & np.isfinite(reference)
    wide = np.complex128 if reference.dtype.kind == "c" else np.float64
    one, other = result[both].astype(wide), reference[both].astype(wide)
    difference, bound = np.abs(one - other), tolerance.absolute + tolerance.relative * np.abs(other)
    shares = np.divide(difference, bound, out=np.full(difference.shape, np.inf), where=bound > 0)
    return float(np.where(difference == 0, 0.0, shares).max(initial=0.0))


def is_other(tolerance: Tolerance, results: Sequence[Leaf], references: Sequence[Array]) -> bool:
    """Whether a result computed in other steps uses up too much of its tolerance, or has another NaN or infinity."""
    pairs = [
        (one, other) for one, other in zip(results, references) if other.dtype.kind == one.values.dtype.kind == "f"
    ]
    return any(
        not np.array_equal(_not_finite(one.values), _not_finite(other), equal_nan=True)
        or _largest_share(tolerance, one.values, other) > LARGEST_SHARE
        for one, other in pairs
        if one.values.shape == other.shape
    )


def _not_finite(values: Array) -> Array:
    return np.where(np.isfinite(values), 0.0, values)


def has_zero(array: Array) -> bool:
    return array.dtype.kind == "f" and bool((array == 0).any())


def with_other_zeros(array: Array) -> Array:
    """The array with the other sign at each of its zeros."""
    return np.where(array == 0, -array, array).astype(array.dtype) if has_zero(array) else array


def differ(tolerance: Tolerance, results: Sequence[Leaf], others: Sequence[Leaf]) -> bool:
    """Whether two results of one call differ by more than the tolerance in any float."""
    return not all(
        np.allclose(one.values, other.values, tolerance.relative, tolerance.absolute, equal_nan=True)
        for one, other in zip(results, others)
        if one.values.dtype.kind in "fc" and one.values.shape == other.values.shape
    )
