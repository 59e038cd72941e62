"""Builds the module under test on the device, with weights from the case.

All cases about modules share these ``prepare`` functions. The arguments of such a case are a state dictionary, and then
the arguments of ``forward``. The case's options are the constructor's options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from runners.suite.cases import Context
from runners.suite.sequences import aligned

Weights = Mapping[str, Any]


def build(context: Context, weights: Weights, options: Mapping[str, Any]) -> Any:
    """Build the module on the device in the case's dtype, and replace its initial weights.

    The constructor of a module without weights does not get a device.
    """
    if not weights:
        return context.function(**options)
    module = context.function(**options, device=context.device, dtype=context.dtype)
    module.load_state_dict(weights)
    return module


def forward(context: Context, weights: Weights, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare one forward pass in training mode, which is the mode of a new module."""
    module = build(context, weights, options)
    return lambda: module(*arguments)


def forward_evaluating(context: Context, weights: Weights, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare one forward pass in evaluation mode without gradients, as a model is used after training."""
    module = build(context, weights, options).eval()

    def call() -> Any:
        with torch.no_grad():
            return module(*arguments)

    return call


def forward_transposed(context: Context, weights: Weights, argument: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a forward pass on a non-contiguous view: the argument with its last two axes swapped."""
    module = build(context, weights, options)
    view = argument.transpose(-1, -2)
    return lambda: module(view)


def forward_channels_last(context: Context, weights: Weights, argument: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a forward pass in the channels-last memory format, which the weights also have."""
    layout = torch.channels_last if argument.dim() == 4 else torch.channels_last_3d
    module = build(context, weights, options).to(memory_format=layout)
    laid_out = argument.contiguous(memory_format=layout)
    return lambda: module(laid_out)


def gradients(context: Context, weights: Weights, *inputs_and_cotangent: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a forward and a backward pass. It returns the result, the gradients of the inputs, and the gradients of
    the weights by name."""
    *inputs, cotangent = inputs_and_cotangent
    module = build(context, weights, options)
    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    names = [name for name, _ in module.named_parameters()]

    def call() -> Any:
        result = module(*leaves)
        found = torch.autograd.grad(result, [*leaves, *module.parameters()], cotangent)
        return result, list(found[: len(leaves)]), dict(aligned(names, found[len(leaves) :]))

    return call
