"""Compute the gradient of a written call by central differences of the forward pass, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from freezing.common import differences
from freezing.common.differences import MOST_ELEMENTS, Array
from runners.suite.sequences import aligned
from runners.torch.ways import tensors_in
from runners.torch.widening import changed, widened


def are_few(parts: Sequence[Any]) -> bool:
    """Whether a written gradient has so few real inputs that differences are cheap."""
    inputs = _inputs(parts)
    return sum(tensor.numel() for tensor in inputs) <= MOST_ELEMENTS and not any(map(torch.is_complex, inputs))


def gradients(function: Any, parts: Sequence[Any]) -> list[Any]:
    """Return the gradient with respect to each selected input, in order, as arrays."""
    arguments, options, places, weights = widened(parts)

    def loss(values: Sequence[Array]) -> float:
        """Return the weighted sum of the results, with these values for the selected inputs."""
        parts_copied = changed((arguments, options), lambda tensor: tensor.detach().clone())
        tensors = list(tensors_in(parts_copied))
        for place, array in aligned(places, values):
            tensors[place].copy_(torch.from_numpy(array))
        results = tensors_in(function(*parts_copied[0], **parts_copied[1]))
        return sum(_product(result, weight) for result, weight in aligned(results, weights) if weight is not None)

    with torch.no_grad():
        inputs = [tensor.detach().to(torch.float64).numpy() for tensor in _inputs(parts)]
        return differences.gradients(loss, inputs)


def _inputs(parts: Sequence[Any]) -> list[torch.Tensor]:
    arguments, options, places, _ = parts
    tensors = list(tensors_in((arguments, options)))
    return [tensors[place] for place in places]


def _product(result: torch.Tensor, weight: torch.Tensor) -> float:
    """Return the sum of the products. For complex numbers, this is the real part with conjugate weights, as torch
    defines the gradient."""
    return float((result * weight.conj()).real.sum() if weight.is_complex() else (result * weight).sum())
