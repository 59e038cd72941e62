"""Cases of normalization over a batch and over groups of channels, and of the running statistics that it keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Expected, Tolerance
from runners.torch.suites.paper.gradients import DIFFERENCES, pull_back
from runners.torch.suites.paper.windows import with_edges

Array = np.ndarray[Any, Any]

# Centered values are divided by their deviation, so the rounding error of the mean is relative to the size of the
# values.
CENTRED = Tolerance(2e-5, 2e-5)


def channelwise(array: Array | None, like: Array, default: float) -> Array:
    """Return one number per channel, in a shape that broadcasts with (batch, channel, *space)."""
    filled = np.full(like.shape[1], default) if array is None else array
    return filled.reshape(1, -1, *(1,) * (like.ndim - 2))


def standardised(values: Array, mean: Array, variance: Array, scale: Any, shift: Any, eps: float) -> Array:
    result = (values - channelwise(mean, values, 0)) / np.sqrt(channelwise(variance, values, 1) + eps)
    return np.asarray(result * channelwise(scale, values, 1) + channelwise(shift, values, 0))


def batch_norm_call(
    context: Context, values: Any, mean: Any, variance: Any, weight: Any, bias: Any, **options: Any
) -> Callable[[], Any]:
    """Prepare a call that returns the result, and the running statistics after the call."""
    return lambda: (context.function(values, mean, variance, weight, bias, **options), mean, variance)


def batch_norm_reference(
    values: Array,
    mean: Array | None,
    variance: Array | None,
    weight: Array | None,
    bias: Array | None,
    *,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Array, Any, Any]:
    if not training:
        assert mean is not None
        assert variance is not None
        return standardised(values, mean, variance, weight, bias, eps), mean, variance
    others = (0, *range(2, values.ndim))
    of_batch, spread = values.mean(others), values.var(others)
    result = standardised(values, of_batch, spread, weight, bias, eps)
    if mean is None or variance is None:
        return result, mean, variance
    # The result is scaled with the biased variance, but the running variance is unbiased.
    unbiased = values.var(others, ddof=1)
    kept = 1 - momentum
    return result, kept * mean + momentum * of_batch, kept * variance + momentum * unbiased


def channels(*shape: int, affine: bool = True) -> Callable[[Inputs], Any]:
    """Make values, running mean and variance, and weight and bias (or None)."""

    def arguments(inputs: Inputs) -> Any:
        count = shape[1]
        weights = (inputs.uniform(count, low=0.5, high=1.5), inputs.normal(count)) if affine else (None, None)
        values = 2 * inputs.normal(*shape) + 1
        return values, inputs.normal(count), inputs.uniform(count, low=0.5, high=2), *weights

    return arguments


def with_nan(arguments: Callable[[Inputs], Any]) -> Callable[[Inputs], Any]:
    """Make the same arguments, with one NaN in the first array."""

    def changed(inputs: Inputs) -> Any:
        values, *others = arguments(inputs)
        values.reshape(-1)[values.size // 3] = np.nan
        return values, *others

    return changed


batch_norm = Function("torch.nn.functional.batch_norm", reference=batch_norm_reference, prepare=batch_norm_call)
REMEMBERS: Mapping[str, Any] = {
    "training": True,
    "in_place": (1, 2),
    "unrepeatable": "the running statistics go on from those that the last call left",
}

batch_norm.value("training", channels(16, 32, 16, 16), tolerance=CENTRED, **REMEMBERS)
batch_norm.value("evaluating", channels(16, 32, 16, 16), tolerance=CENTRED)
batch_norm.value("float64", channels(6, 4, 5), dtype="float64", **REMEMBERS)
batch_norm.value("bfloat16", channels(6, 4, 8), dtype="bfloat16")
batch_norm.value("two-dimensions", channels(12, 5), tolerance=CENTRED, **REMEMBERS)
batch_norm.value("five-dimensions", channels(2, 3, 2, 3, 4), tolerance=CENTRED, **REMEMBERS)
batch_norm.value("without-weights", channels(6, 4, 5, affine=False), tolerance=CENTRED, **REMEMBERS)
batch_norm.value("other-momentum", channels(6, 4, 5), tolerance=CENTRED, momentum=0.75, **REMEMBERS)
batch_norm.value("momentum-zero-remembers-nothing", channels(6, 4), tolerance=CENTRED, training=True, momentum=0.0)
batch_norm.value("large-epsilon", channels(6, 4, 5), tolerance=CENTRED, eps=2.0, **REMEMBERS)
batch_norm.value(
    "without-running-statistics",
    lambda inputs: (inputs.normal(6, 4, 5), None, None, inputs.normal(4), inputs.normal(4)),
    tolerance=CENTRED,
    training=True,
)
batch_norm.value(
    "constant-channel-becomes-its-shift",
    lambda inputs: (np.full((5, 3), 2.5), np.zeros(3), np.ones(3), np.ones(3), inputs.normal(3)),
    # The rounding error of the difference is divided by the square root of epsilon.
    tolerance=Tolerance(1e-4, 1e-3),
    **REMEMBERS,
)


def differentiated(context: Context, values: Any, cotangent: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the result and the gradient of a function of one array."""
    leaf = values.detach().requires_grad_()

    def call() -> Any:
        result = context.function(leaf, **options)
        return result, torch.autograd.grad(result, leaf, cotangent)[0]

    return call


def batch_gradient(context: Context, values: Any, cotangent: Any, **options: Any) -> Callable[[], Any]:
    leaf = values.detach().requires_grad_()

    def call() -> Any:
        result = context.function(leaf, None, None, **options)
        return result, torch.autograd.grad(result, leaf, cotangent)[0]

    return call


def with_pull_back(forward: Callable[..., Array]) -> Callable[..., tuple[Array, Array]]:
    def reference(values: Array, cotangent: Array, **options: Any) -> tuple[Array, Array]:
        def alone(array: Array) -> Array:
            return forward(array, **options)

        return alone(values), pull_back(alone, values, cotangent)

    return reference


batch_norm.value(
    "gradient",
    lambda inputs: (inputs.normal(5, 3, 4), inputs.normal(5, 3, 4)),
    dtype="float64",
    reference=with_pull_back(
        lambda values, **options: batch_norm_reference(values, None, None, None, None, **options)[0]
    ),
    prepare=batch_gradient,
    tolerance=DIFFERENCES,
    training=True,
)
batch_norm.value("nan-stays-where-it-is-evaluating", with_nan(channels(4, 3, 5)), tolerance=CENTRED)
batch_norm.value("nan-takes-its-channel-training", with_nan(channels(4, 3, 5)), tolerance=CENTRED, **REMEMBERS)


def group_norm_call(
    context: Context, values: Any, weight: Any = None, bias: Any = None, *, num_groups: int, **options: Any
) -> Callable[[], Any]:
    return lambda: context.function(values, num_groups, weight, bias, **options)


def group_norm_reference(
    values: Array,
    weight: Array | None = None,
    bias: Array | None = None,
    *,
    num_groups: int,
    eps: float = 1e-5,
) -> Array:
    grouped = values.reshape(values.shape[0], num_groups, math.prod(values.shape[1:]) // num_groups)
    centred = grouped - grouped.mean(-1, keepdims=True)
    scaled = (centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)).reshape(values.shape)
    return np.asarray(scaled * channelwise(weight, values, 1) + channelwise(bias, values, 0))


def grouped(*shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: (
        2 * inputs.normal(*shape) - 1,
        inputs.uniform(shape[1], low=0.5, high=1.5),
        inputs.normal(shape[1]),
    )


group_norm = Function("torch.nn.functional.group_norm", reference=group_norm_reference, prepare=group_norm_call)

group_norm.value("images", grouped(8, 32, 16, 16), tolerance=CENTRED, num_groups=4)
group_norm.value("float64", grouped(3, 6, 5), dtype="float64", num_groups=3)
group_norm.value("bfloat16", grouped(3, 8, 6), dtype="bfloat16", num_groups=2)
group_norm.value("one-group", grouped(3, 6, 4), tolerance=CENTRED, num_groups=1)
group_norm.value("a-group-a-channel", grouped(3, 6, 4, 2), tolerance=CENTRED, num_groups=6)
group_norm.value("two-dimensions", grouped(5, 12), tolerance=CENTRED, num_groups=3)
group_norm.value("without-weights", lambda inputs: (inputs.normal(4, 6, 5),), tolerance=CENTRED, num_groups=2)
group_norm.value("large-epsilon", grouped(4, 6, 5), tolerance=CENTRED, num_groups=2, eps=2.0)
group_norm.value("empty-batch", lambda inputs: (inputs.normal(0, 6, 5),), num_groups=2)
group_norm.value(
    "gradient",
    lambda inputs: (inputs.normal(2, 4, 3), inputs.normal(2, 4, 3)),
    dtype="float64",
    reference=with_pull_back(group_norm_reference),
    prepare=differentiated,
    tolerance=DIFFERENCES,
    num_groups=2,
)
group_norm.value("nan-takes-its-group", with_nan(grouped(3, 6, 4)), tolerance=CENTRED, num_groups=3)


def reset(context: Context, batches: Any, *, kind: str, **options: Any) -> Callable[[], Any]:
    """Prepare the running statistics and the count of batches of a layer that is reset after some batches."""
    layer = getattr(torch.nn, kind)(batches.shape[2], device=context.device, dtype=context.dtype, **options)

    def call() -> Any:
        for batch in batches:
            layer(batch)
        context.function(layer)
        return layer.running_mean, layer.running_var, layer.num_batches_tracked

    return call


def fresh_statistics(batches: Array, **_: Any) -> Any:
    count = batches.shape[2]
    return np.zeros(count), np.ones(count), Expected(np.array(0), "int64")


# The study names BatchNorm, which was never public. Its three public forms share the method.
reset_statistics = Function(
    "torch.nn.BatchNorm.reset_running_stats",
    alias_of="torch.nn.BatchNorm2d.reset_running_stats",
    reference=fresh_statistics,
    prepare=reset,
)

reset_statistics.value("images", lambda inputs: (inputs.normal(2, 8, 32, 8, 8),), kind="BatchNorm2d")
reset_statistics.value("sequences", lambda inputs: (inputs.normal(3, 6, 4, 5),), kind="BatchNorm1d")
reset_statistics.value("volumes", lambda inputs: (inputs.normal(1, 2, 3, 2, 2, 2),), kind="BatchNorm3d")
reset_statistics.value("float64", lambda inputs: (inputs.normal(2, 6, 4),), dtype="float64", kind="BatchNorm1d")
reset_statistics.value("bfloat16", lambda inputs: (inputs.normal(1, 6, 4),), dtype="bfloat16", kind="BatchNorm1d")
reset_statistics.value(
    "cumulative-average", lambda inputs: (inputs.normal(3, 6, 4),), kind="BatchNorm1d", momentum=None
)


def check_nothing_kept(observed: Any, *_: Array, **__: Any) -> None:
    assert observed == (None, None, None), f"a layer without running statistics has {observed}"


reset_statistics.behaviour(
    "without-running-statistics",
    lambda inputs: (inputs.normal(1, 6, 4),),
    check_nothing_kept,
    prepare=reset,
    kind="BatchNorm1d",
    track_running_stats=False,
)
reset_statistics.value(
    "nan-is-forgotten",
    lambda inputs: (with_edges(inputs.normal(2, 6, 4)),),
    kind="BatchNorm1d",
)

FUNCTIONS: list[Function] = [batch_norm, group_norm, reset_statistics]
