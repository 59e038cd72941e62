"""Differences: derivatives of a function of arrays by central differences in float64, from its values alone.

They share no formula with a library's own backward pass, and so are the more independent reference of a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Loss = Callable[[Sequence[Array]], float]
"""A number that is computed from arrays: the weighted sum of a call's results."""

STEP = 1e-5
"""Truncation and rounding are both near 1e-10 for values around one."""
SECOND_STEP = 1e-4
"""The same of second differences, where both are near 1e-8."""
MOST_ELEMENTS = 150
"""To differentiate by; each is two values of the loss."""


def gradients(loss: Loss, inputs: Sequence[Array]) -> list[Array]:
    """The gradient of the loss by each input."""
    return _by_each(inputs, lambda raised: (loss(raised(STEP)) - loss(raised(-STEP))) / (2 * STEP))


def second_order(loss: Loss, inputs: Sequence[Array], directions: Sequence[Array]) -> list[Array]:
    """The gradient, by each input, of the gradient's product with directions: the Hessian times these."""

    def move(inputs: Sequence[Array], step: float) -> list[Array]:
        return [array + step * direction for array, direction in zip(inputs, directions, strict=True)]

    def difference(raise_by: Callable[[float], Sequence[Array]]) -> float:
        one, other = raise_by(SECOND_STEP), raise_by(-SECOND_STEP)
        above = loss(move(one, SECOND_STEP)) - loss(move(other, SECOND_STEP))
        below = loss(move(one, -SECOND_STEP)) - loss(move(other, -SECOND_STEP))
        return (above - below) / (2 * SECOND_STEP) ** 2

    return _by_each(inputs, difference)


def weights_of(shape: tuple[int, ...]) -> Array:
    """Different numbers about 0 and not 0, the same for all results of a shape, which so are kept once."""
    count = int(np.prod(shape, dtype=np.int64))
    numbers = (2 * np.random.default_rng(0).permutation(count) + 1.5 - count) / max(count, 1)
    return np.asarray(numbers).reshape(shape)


def _by_each(inputs: Sequence[Array], difference: Callable[[Callable[[float], Sequence[Array]]], float]) -> list[Array]:
    """For each element of each input the difference that it makes, from a function which raises it by a step."""
    slopes = []
    for place, array in enumerate(inputs):
        slope = np.zeros(array.shape)
        for index in np.ndindex(*array.shape):

            def raise_entry(step: float, place: int = place, index: tuple[int, ...] = index) -> Sequence[Array]:
                members = [np.array(member, np.float64) for member in inputs]
                members[place][index] += step
                return members

            slope[index] = difference(raise_entry)
        slopes.append(slope)
    return slopes
