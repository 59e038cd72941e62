"""Compute derivatives by central differences in float64.

They share no formula with a library's backward pass, so they are a more independent reference for a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Loss = Callable[[Sequence[Array]], float]
"""Computes one number from arrays: the weighted sum of a call's results."""

STEP = 1e-5
"""The step of first differences. Truncation and rounding errors are both near 1e-10 for values around one."""
SECOND_STEP = 1e-4
"""The step of second differences. Both errors are near 1e-8 for values around one."""
MOST_ELEMENTS = 150
"""The maximum number of elements to differentiate by. Each needs two values of the loss."""


def gradients(loss: Loss, inputs: Sequence[Array]) -> list[Array]:
    """Return the gradient of the loss with respect to each input."""
    return _by_each(inputs, lambda raised: (loss(raised(STEP)) - loss(raised(-STEP))) / (2 * STEP))


def second_order(loss: Loss, inputs: Sequence[Array], directions: Sequence[Array]) -> list[Array]:
    """Return the Hessian of the loss times ``directions``, as one array for each input."""

    def move(inputs: Sequence[Array], step: float) -> list[Array]:
        return [array + step * direction for array, direction in zip(inputs, directions, strict=True)]

    def difference(raise_by: Callable[[float], Sequence[Array]]) -> float:
        one, other = raise_by(SECOND_STEP), raise_by(-SECOND_STEP)
        above = loss(move(one, SECOND_STEP)) - loss(move(other, SECOND_STEP))
        below = loss(move(one, -SECOND_STEP)) - loss(move(other, -SECOND_STEP))
        return (above - below) / (2 * SECOND_STEP) ** 2

    return _by_each(inputs, difference)


def along(
    gradients: Callable[[Sequence[Array]], Sequence[Array]], inputs: Sequence[Array], directions: Sequence[Array]
) -> list[Array]:
    """Return the Hessian of a loss times ``directions``, from the gradients of this loss at two points."""

    def move(step: float) -> list[Array]:
        return [array + step * direction for array, direction in zip(inputs, directions, strict=True)]

    above, below = gradients(move(STEP)), gradients(move(-STEP))
    return [(one - other) / (2 * STEP) for one, other in zip(above, below, strict=True)]


def weights_of(shape: tuple[int, ...]) -> Array:
    """Return distinct nonzero numbers around 0. They depend only on the shape, so that a pack stores them once."""
    count = int(np.prod(shape, dtype=np.int64))
    numbers = (2 * np.random.default_rng(0).permutation(count) + 1.5 - count) / max(count, 1)
    return np.asarray(numbers).reshape(shape)


def _by_each(inputs: Sequence[Array], difference: Callable[[Callable[[float], Sequence[Array]]], float]) -> list[Array]:
    """Return ``difference`` for each element of each input.

    The argument of ``difference`` is a function that returns the inputs with this element raised by a step.
    """
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
