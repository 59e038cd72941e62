"""Computes gradients without a framework: central differences in float64, the reference for backward passes.

``backward`` turns the NumPy reference of a forward pass into the reference of its backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from runners.suite.checks import Tolerance
from runners.suite.sequences import aligned

Array = np.ndarray[Any, Any]

STEP = 1e-5
"""The step of the differences. Truncation and rounding errors are both near 1e-10 for values around one."""
DIFFERENCES = Tolerance(1e-6, 1e-6)
"""The accuracy of central differences in float64."""


def pull_back(function: Callable[[Array], Any], at: Array, cotangent: Any) -> Array:
    """Compute the gradient of ``<function(at), cotangent>``. The result and the cotangent may both be tuples."""
    gradient = np.zeros(at.shape)
    for index in np.ndindex(at.shape):
        raised, lowered = at.copy(), at.copy()
        raised[index] += STEP
        lowered[index] -= STEP
        gradient[index] = (_pair(function(raised), cotangent) - _pair(function(lowered), cotangent)) / (2 * STEP)
    return gradient


def _pair(result: Any, cotangent: Any) -> float:
    if isinstance(result, tuple):
        return sum(_pair(one, other) for one, other in aligned(result, cotangent))
    return float(np.sum(np.asarray(result) * cotangent))


def backward(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Turn ``reference(weights, *inputs, **options)`` into a reference for the result of ``construction.gradients``.

    The new reference gets the cotangent as its last positional argument.
    """

    def differentiated(
        weights: Mapping[str, Array], *inputs_and_cotangent: Any, **options: Any
    ) -> tuple[Any, list[Array], dict[str, Array]]:
        *inputs, cotangent = inputs_and_cotangent
        of_inputs = [
            pull_back(
                lambda value, place=place: reference(  # type: ignore[misc]
                    weights, *inputs[:place], value, *inputs[place + 1 :], **options
                ),
                array,
                cotangent,
            )
            for place, array in enumerate(inputs)
        ]
        of_weights = {
            name: pull_back(
                lambda value, name=name: reference({**weights, name: value}, *inputs, **options),  # type: ignore[misc]
                array,
                cotangent,
            )
            for name, array in weights.items()
        }
        return reference(weights, *inputs, **options), of_inputs, of_weights

    return differentiated
