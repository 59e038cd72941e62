"""Find results that may differ on another processor, so that such a difference is not taken for a defect. Pure.

The rounding error of a sum depends on the order in which a processor adds, and so does the sign of a sum that is zero.
If the host's result is already far from its reference, or if the sign of a zero decides the result of a ``tails``
variant, another processor may leave the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runners.suite.checks import Leaf, Tolerance

Array = np.ndarray[Any, Any]
LARGEST_SHARE = 0.2
"""The largest share of a tolerance that the host's error may use. The rest is room for other processors."""
TOO_FAR = "its result on the CPU takes more than a fifth of its tolerance, and another processor rounds otherwise"
ELSEWHERE = (
    "a processor that rounds each step, joins elements in another order or has more threads gives another result"
)
BY_A_ZERO = "the sign of a zero decides its result"


def share_of(tolerance: Tolerance, results: Sequence[Leaf], references: Sequence[Array]) -> float:
    """Return the largest difference between finite floats, as a share of the tolerance; 0 without finite floats."""
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
    """Whether a result uses more than ``LARGEST_SHARE`` of its tolerance, or has other NaNs or infinities."""
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
    """Return the array with the sign of each zero flipped."""
    return np.where(array == 0, -array, array).astype(array.dtype) if has_zero(array) else array


def differ(tolerance: Tolerance, results: Sequence[Leaf], others: Sequence[Leaf]) -> bool:
    """Whether any floats of two results differ by more than the tolerance."""
    return not all(
        np.allclose(one.values, other.values, tolerance.relative, tolerance.absolute, equal_nan=True)
        for one, other in zip(results, others)
        if one.values.dtype.kind in "fc" and one.values.shape == other.values.shape
    )
