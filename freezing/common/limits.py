"""Compute gradients by differences in float64 at inputs that are NaN, infinite or large, and results at NaN.

NaN stands for any number. So an element of a result is NaN if it depends on this number. A gradient at NaN is defined
if it is the same for several numbers in place of NaN. It is NaN if it depends on this number. The gradient at an
infinity is the limit of the gradients at larger and larger numbers. So a backward pass that defines a gradient in
another way (such as zero for ``relu`` at NaN) has no reference here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from freezing.common.differences import STEP
from runners.errors import UnjudgedError

Array = np.ndarray[Any, Any]
Results = Callable[[Sequence[Array]], "list[Array]"]
"""Computes the weighted results of a call from arrays. Each result is differentiated alone: in a sum, a large result
would hide the others."""

STAND_INS = (-1.3, -0.4, 0.3, 0.8, 2.7)
"""The numbers in place of NaN. They have both signs, because many functions have a kink at 0."""
LEAST_STAND_INS = 3
"""The minimum number of these that must be in the domain of the function."""
EXTREME_STAND_INS = (1e5, -1e5)
"""Further numbers in place of NaN for results. In a maximum, a small number in place of NaN would never be chosen."""
FAR = (1e4, 1e6, 1e8)
"""The numbers in place of infinity."""
SMALL = 1e3
"""Up to this magnitude, the step is the same for all numbers. For larger ones it is relative."""
CLOSE = 1e-6
"""The largest relative difference of gradients that count as equal."""
MOST_ELEMENTS = 40
"""The maximum number of elements to differentiate by. Each needs ten calls at NaN."""


def gradients(results: Results, inputs: Sequence[Array]) -> list[Array]:
    """Return the gradient of the sum of all results with respect to each input."""
    wide = [np.array(array, np.float64) for array in inputs]
    if not any(np.isnan(array).any() for array in wide):
        return _at_infinities(results, wide)
    slopes = []
    for stand_in in STAND_INS:
        own = _at_infinities(results, [np.where(np.isnan(array), stand_in, array) for array in wide])
        if all(np.isfinite(slope).all() for slope in own):
            slopes.append(own)
    if len(slopes) < LEAST_STAND_INS:
        raise UnjudgedError("too few numbers in place of NaN are in the domain")
    return [_same_or_nan(np.stack(own)) for own in zip(*slopes, strict=True)]


def results(call: Callable[[Sequence[Array]], list[Any]], inputs: Sequence[Array]) -> list[Any]:
    """Return the results of a call whose inputs contain NaN, from calls with numbers in place of NaN."""
    results_by_number = []
    for stand_in in (*STAND_INS, *EXTREME_STAND_INS):
        own = list(map(np.asarray, call([np.where(np.isnan(array), stand_in, array) for array in inputs])))
        if all(np.isfinite(one).all() for one in own if one.dtype.kind == "f"):
            results_by_number.append(own)
    if len(results_by_number) < LEAST_STAND_INS:
        raise UnjudgedError("too few numbers in place of NaN are in the domain")
    if not any(one.dtype.kind == "f" for one in results_by_number[0]):
        raise UnjudgedError("no result can be NaN")
    return [_same_or_nan(np.stack(own)) if own[0].dtype.kind == "f" else _same(own) for own in zip(*results_by_number)]


def _same(members: Sequence[Array]) -> Array:
    if not all(np.array_equal(members[0], member) for member in members):
        raise UnjudgedError("a result that cannot be NaN depends on the number in place of NaN")
    return members[0]


def _same_or_nan(values: Array) -> Array:
    """Return the values that are the same for all stand-ins, and NaN for the others."""
    spread = values.max(0) - values.min(0)
    return np.where(spread <= CLOSE * np.maximum(1, np.abs(values[0])), values[0], np.nan)


def _at_infinities(results: Results, inputs: Sequence[Array]) -> list[Array]:
    if not any(np.isinf(array).any() for array in inputs):
        return _at_numbers(results, inputs)
    _, nearer, farthest = (
        _at_numbers(results, [np.where(np.isinf(array), np.sign(array) * far, array) for array in inputs])
        for far in FAR
    )
    for one, other in zip(nearer, farthest, strict=True):
        if not np.allclose(one, other, CLOSE, CLOSE):
            raise UnjudgedError("its gradient has no limit")
    return farthest


def _at_numbers(results: Results, inputs: Sequence[Array]) -> list[Array]:
    slopes = []
    for place, array in enumerate(inputs):
        slope = np.zeros(array.shape)
        for index in np.ndindex(*array.shape):
            size = abs(float(array[index]))
            step = STEP if size <= SMALL else STEP * size
            above, below = (move(inputs, place, index, step * sign) for sign in (1, -1))
            width = above[place][index] - below[place][index]
            slope[index] = sum(
                float((one - other).sum()) for one, other in zip(results(above), results(below), strict=True)
            )
            slope[index] /= width
        slopes.append(slope)
    return slopes


def move(inputs: Sequence[Array], place: int, index: tuple[int, ...], by: float) -> list[Array]:
    """Return copies of the inputs with one element moved."""
    copies = [array.copy() for array in inputs]
    copies[place][index] += by
    return copies
