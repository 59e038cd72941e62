"""The ways in which a frozen case looks at more of a module than the result of its forward pass: at its buffers, or at
gradients.

These ways are not in the table of ``ways.py``, because the digest of every frozen case includes that table. Another
entry would change the digest of every case, and stored outcomes would no longer count.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.suite.sequences import aligned
from runners.torch import module_curvature
from runners.torch.frozen import WAY, FrozenCall, frozen_call
from runners.torch.ways import Way, built, tensors_in

Inputs = tuple[Sequence[Any], Mapping[str, Any]]
"""The positional arguments and the keyword arguments of a forward pass."""


def forward_and_buffers(
    function: Any,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    state: Mapping[str, Any],
    inputs: Inputs,
    training: bool,
) -> Callable[[], Any]:
    """A way to call a function: build the module, run it forward, and return the result and the buffers by name.

    Each call begins with the buffers of the state, so that it can be repeated.
    """
    import torch

    module = built(function, arguments, options, state, training)
    positional, keywords = inputs

    def call() -> list[Any]:
        with torch.no_grad():
            for name, buffer in module.named_buffers():
                buffer.copy_(state[name])
        result = module(*positional, **keywords)
        return [result, {name: buffer.clone() for name, buffer in module.named_buffers()}]

    return call


def module_gradient(
    function: Any,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    state: Mapping[str, Any],
    inputs: Inputs,
    training: bool,
    input_places: Sequence[int],
    weights: Sequence[Any],
) -> Callable[[], Any]:
    """A way to call a function: build the module, run it forward and backward, and return gradients.

    The gradients are those of a weighted sum of the results. The call returns a list of the gradients with respect to
    the inputs, and a dictionary of the gradients with respect to the parameters, by the parameter's name.

    ``input_places`` are the positions of the inputs to differentiate with respect to. ``weights`` has an array for each
    array of the result that has a gradient, and None for each array without a gradient.
    """
    import torch

    module = built(function, arguments, options, state, training)
    positional, keywords = inputs
    tensors = list(tensors_in(inputs))
    leaves = [tensors[place].requires_grad_() for place in input_places]
    parameters = dict(module.named_parameters())

    def call() -> list[Any]:
        results = list(tensors_in(module(*positional, **keywords)))
        weighted = [(result, weight) for result, weight in aligned(results, weights) if weight is not None]
        gradients = torch.autograd.grad(
            [result for result, _ in weighted],
            [*leaves, *parameters.values()],
            [weight for _, weight in weighted],
            allow_unused=True,
        )
        return [list(gradients[: len(leaves)]), dict(aligned(parameters, gradients[len(leaves) :]))]

    return call


MODULE_WAYS: Mapping[str, Way] = {"forward_and_buffers": forward_and_buffers, "module_gradient": module_gradient}
"""The ways by the names that stored calls use."""


@dataclass(frozen=True)
class ModuleCall(FrozenCall):
    """Prepares a stored call in one of these ways."""

    @property
    def way(self) -> Way:
        return MODULE_WAYS[json.loads(self.written)[WAY]]


def frozen_call_in_any_way(written: str) -> FrozenCall:
    """The prepared form of a stored call, also in one of the ways of modules."""
    if _is_in(module_curvature.NAME, written):
        return module_curvature.ModuleCurvatureCall(written)
    return ModuleCall(written) if any(_is_in(way, written) for way in MODULE_WAYS) else frozen_call(written)


def _is_in(way: str, written: str) -> bool:
    return f'"{WAY}":"{way}"' in written
