"""The way in which a frozen case computes the second derivatives of a module.

It is not in the table of ``module_ways.py``, because the digests of all cases in those ways include that table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.suite.sequences import aligned
from runners.torch.frozen import FrozenCall
from runners.torch.ways import Way, built, penalty, tensors_in

NAME = "module_second_order"
"""The name of the way in stored calls."""


def module_second_order(
    function: Any,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    state: Mapping[str, Any],
    inputs: tuple[Sequence[Any], Mapping[str, Any]],
    training: bool,
    input_places: Sequence[int],
    weights: Sequence[Any],
) -> Callable[[], Any]:
    """A way to call a function: build the module, and return the gradients of a penalty, which is half the sum of the
    squares of its gradients.

    The parts are those of ``module_gradient``, and the call returns the gradients in the same form. A gradient is zero
    if the penalty does not depend on the input or parameter.
    """
    import torch

    module = built(function, arguments, options, state, training)
    positional, keywords = inputs
    tensors = list(tensors_in(inputs))
    leaves = [tensors[place].requires_grad_() for place in input_places]
    parameters = dict(module.named_parameters())
    variables = [*leaves, *parameters.values()]

    def call() -> list[Any]:
        total = penalty(module, positional, keywords, variables, weights)
        gradients = torch.autograd.grad(total, variables, allow_unused=True, materialize_grads=True)
        return [list(gradients[: len(leaves)]), dict(aligned(parameters, gradients[len(leaves) :]))]

    return call


@dataclass(frozen=True)
class ModuleCurvatureCall(FrozenCall):
    """Prepares a stored call in this way."""

    @property
    def way(self) -> Way:
        return module_second_order
