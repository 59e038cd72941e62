"""Handwritten cases of tools for training: optimizers, gradients, parametrizations, initial weights, distributions.

They cover the most used functions without samples in torch's own tests. NumPy judges them, as in ``by_hand.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function
from runners.torch.suites.library.by_hand import IN_PLACE_TAGS, TAGS, Array, chart_in, spread_about

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def one_value(name: str, reference: Callable[..., Any], prepare: Any = None, **options: Any) -> None:
    """Add a function with one case, whose input is an array of 3 by 4."""
    function = charted(name, reference, prepare) if prepare else charted(name, reference)
    function.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS, **options)


def own_optimizer(context: Context, values: Any, gradient: Any) -> Callable[[], Any]:
    """Prepare one step of an optimizer that is a subclass of the function, as users define one."""
    import torch

    class Descent(context.function):  # type: ignore[misc, name-defined]
        def __init__(self, parameters: Any) -> None:
            super().__init__(parameters, {"rate": 0.5})

        @torch.no_grad()  # type: ignore[untyped-decorator]
        def step(self) -> None:
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.sub_(group["rate"] * parameter.grad)

    def call() -> Any:
        parameter = torch.nn.Parameter(values.clone())
        parameter.grad = gradient.clone()
        Descent([parameter]).step()
        return parameter.detach()

    return call


charted("torch.optim.Optimizer", lambda values, gradient: values - 0.5 * gradient, own_optimizer).value(
    "float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS
)


def moved_module(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    """Prepare the call of a layer that is created on the host and moved to the device. There it gets its weight."""
    import torch

    def call() -> Any:
        with context.surroundings():
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        context.function(layer, context.device)
        with torch.no_grad():
            layer.weight.copy_(weight)
        return layer(values).detach()

    return call


charted("torch.nn.Module.to", lambda values, weight: values @ weight.T, moved_module).value(
    "float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(2, 4)], tags=TAGS
)


def property_of(context: Context, values: Any) -> Callable[[], Any]:
    return lambda: context.function.__get__(values)


one_value("torch.Tensor.T", np.transpose, property_of)
one_value("torch.Tensor.data", np.array, property_of)
one_value("torch.clip", lambda values, min, max: np.clip(values, min, max), min=-0.5, max=0.5)
one_value("torch.relu", lambda values: np.maximum(values, 0))
concatenate = charted("torch.concatenate", lambda arrays, dim: np.concatenate(arrays, dim))
concatenate.value("float32-columns", lambda inputs: [[inputs.normal(2, 3), inputs.normal(2, 1)]], dim=1, tags=TAGS)
embedding = charted("torch.nn.functional.embedding", lambda indices, weight: weight[indices.astype(int)])
embedding.value("float32-rows", lambda inputs: [np.array([[4, 0], [1, 4]]), inputs.normal(5, 3)], tags=TAGS)


def made_module(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    return lambda: context.function(**options)(values)


flatten = charted("torch.nn.Flatten", lambda values: values.reshape(len(values), -1), made_module)
flatten.value("float32-2x3x4", lambda inputs: [inputs.normal(2, 3, 4)], tags=TAGS)
upsample = charted(
    "torch.nn.Upsample",
    lambda values, scale_factor: values.repeat(scale_factor, 2).repeat(scale_factor, 3),
    made_module,
)
upsample.value("float32-nearest", lambda inputs: [inputs.normal(1, 2, 3, 4)], scale_factor=2, tags=TAGS)


def clipped(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a gradient whose length is clipped, and the length before clipping."""
    import torch

    def call() -> Any:
        parameter = torch.nn.Parameter(torch.zeros_like(values))
        parameter.grad = values.clone()
        length = context.function([parameter], 0.5)
        return parameter.grad, length

    return call


def clipped_by_hand(values: Array) -> tuple[Array, Any]:
    length = np.sqrt((values**2).sum())
    return values * min(1.0, 0.5 / (length + 1e-6)), length


one_value("torch.nn.utils.clip_grad_norm_", clipped_by_hand, clipped)


def gradient_of_cubes(context: Context, values: Any) -> Callable[[], Any]:
    def call() -> Any:
        leaf = values.clone().requires_grad_()
        return context.function((leaf**3).sum(), leaf)[0]

    return call


one_value("torch.autograd.grad", lambda values: 3 * values**2, gradient_of_cubes)


def recomputed(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare the gradient through a part that is recomputed in the backward pass instead of stored."""

    def call() -> Any:
        leaf = values.clone().requires_grad_()
        context.function(lambda given: given.sin(), leaf, use_reentrant=False).sum().backward()
        return leaf.grad

    return call


one_value("torch.utils.checkpoint.checkpoint", np.cos, recomputed)


def log_density(context: Context, values: Any, *parameters: Any) -> Callable[[], Any]:
    return lambda: context.function(*parameters).log_prob(values)


def normal_log_density(values: Array, middle: Array, deviation: Array) -> Array:
    return np.asarray(
        -((values - middle) ** 2) / (2 * deviation**2) - np.log(deviation) - math.log(math.sqrt(2 * math.pi))
    )


normal = charted("torch.distributions.Normal", normal_log_density, log_density)
normal.value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(4), np.exp(inputs.normal(4))], tags=TAGS)


def categorical_log_density(places: Array, weights: Array) -> Array:
    shares = weights / weights.sum(-1, keepdims=True)
    return np.asarray(np.log(shares)[np.arange(len(shares)), places.astype(int)])


categorical = charted("torch.distributions.Categorical", categorical_log_density, log_density)
categorical.value("float32-3x5", lambda inputs: [np.array([0, 4, 2]), np.exp(inputs.normal(3, 5))], tags=TAGS)


def created_there(context: Context, *arguments: Any) -> Callable[[], Any]:
    return lambda: context.function(*arguments, device=context.device)


hann_window = charted(
    "torch.hann_window", lambda size: 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size), created_there
)
hann_window.value("float32-8", lambda inputs: [8], tags=("by-hand", "judged-by-numpy", "no-array", "quick"))

ones_ = charted("torch.nn.init.ones_", np.ones_like, in_place=True)
ones_.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
for name, arguments, middle, deviation in (
    ("torch.nn.init.uniform_", [-1.0, 1.0], 0.0, 1 / math.sqrt(3)),
    ("torch.nn.init.kaiming_normal_", [], 0.0, math.sqrt(2 / 40)),
    # Truncation at two standard deviations reduces the standard deviation to 0.8796 of its value.
    ("torch.nn.init.trunc_normal_", [0.0, 1.0, -2.0, 2.0], 0.0, 0.8796),
):
    charted(name, in_place=True).statistics(
        "float32-50x40",
        lambda inputs, arguments=arguments: [inputs.normal(50, 40), *arguments],  # type: ignore[misc]
        spread_about(middle, deviation),
        tags=IN_PLACE_TAGS,
    )
