"""Differences: the gradient of a written call by central differences of the forward pass, in float64.

It shares no formula with the library's own backward pass, and so is the more independent reference of a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import torch
from runners.suite.sequences import aligned
from runners.torch.ways import tensors_in
from runners.torch.widening import changed, widened

STEP = 1e-5
"""Truncation and rounding are both near 1e-10 for values around one."""
MOST_ELEMENTS = 150
"""To differentiate by; each is two forward passes."""


def are_few(parts: Sequence[Any]) -> bool:
    """Whether a written gradient has so few real inputs that differences are cheap."""
    inputs = _inputs(parts)
    return sum(tensor.numel() for tensor in inputs) <= MOST_ELEMENTS and not any(map(torch.is_complex, inputs))


def gradients(function: Callable[..., Any], parts: Sequence[Any]) -> list[Any]:
    """The gradients by each wanted input, in order, as arrays."""
    arguments, options, wanted, weights = widened(parts)

    def raised(place: int, index: tuple[int, ...], step: float) -> float:
        """The weighted sum of the results with an element of an input raised by a step."""
        given = changed((arguments, options), lambda tensor: tensor.detach().clone())
        list(tensors_in(given))[place][index] += step
        results = tensors_in(function(*given[0], **given[1]))
        return sum(_product(result, weight) for result, weight in aligned(results, weights) if weight is not None)

    found = []
    with torch.no_grad():
        for place, tensor in aligned(wanted, _inputs(parts)):
            gradient = np.zeros(tuple(tensor.shape))
            for index in np.ndindex(*gradient.shape):
                gradient[index] = (raised(place, index, STEP) - raised(place, index, -STEP)) / (2 * STEP)
            found.append(gradient)
    return found


def _inputs(parts: Sequence[Any]) -> list[torch.Tensor]:
    arguments, options, wanted, _ = parts
    given = list(tensors_in((arguments, options)))
    return [given[place] for place in wanted]


def _product(result: torch.Tensor, weight: torch.Tensor) -> float:
    """The real part of the sum of the products, as the gradient of a complex result is defined."""
    return float((result * weight.conj()).real.sum() if weight.is_complex() else (result * weight).sum())
