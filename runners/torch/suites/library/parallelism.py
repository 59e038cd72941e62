"""Handwritten cases of training in several processes (here a group of one process), and of layers for such training.

They cover the most used functions without samples in torch's own tests. NumPy judges them, as in ``by_hand.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function
from runners.suite.checks import Mismatch
from runners.suite.frozen import QUICK
from runners.torch.suites.library.by_hand import TAGS, Array, chart_in
from runners.torch.suites.library.modes import linear_layer, of_layer

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def in_group(context: Context, call: Callable[[], Any]) -> Callable[[], Any]:
    """Prepare a call in a group that contains only this process. The backend is the device's own, if it has one, or
    torch's default."""
    import torch.distributed as dist

    kind = context.device.type
    backend = kind if dist.is_backend_available(kind) else None

    def call_in_group() -> Any:
        with context.surroundings():
            dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
        try:
            return call()
        finally:
            with context.surroundings():
                dist.destroy_process_group()

    return call_in_group


def reduce_in_place(context: Context, values: Any, *arguments: Any) -> Callable[[], Any]:
    """Prepare an array after a collective that overwrites it."""

    def call() -> Any:
        array = values.clone()
        context.function(array, *arguments)
        return array

    return in_group(context, call)


for name, arguments in {
    "torch.distributed.all_reduce": [],
    "torch.distributed.broadcast": [0],
    "torch.distributed.reduce": [0],
}.items():
    charted(name, lambda values, *_: np.array(values), reduce_in_place).value(
        "float32-one-process",
        lambda inputs, arguments=arguments: [inputs.normal(3, 4), *arguments],  # type: ignore[misc]
        tags=TAGS,
    )


def gather(context: Context, values: Any) -> Callable[[], Any]:
    import torch

    def call() -> Any:
        parts = [torch.zeros_like(values)]
        context.function(parts, values)
        return parts

    return in_group(context, call)


def gather_into_one(context: Context, values: Any) -> Callable[[], Any]:
    import torch

    def call() -> Any:
        whole = torch.zeros_like(values)
        context.function(whole, values)
        return whole

    return in_group(context, call)


for name, prepare, reference in (
    ("torch.distributed.all_gather", gather, lambda values: [values]),
    ("torch.distributed.all_gather_into_tensor", gather_into_one, np.array),
):
    charted(name, reference, prepare).value("float32-one-process", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)


def wait_for_all(context: Context) -> Callable[[], Any]:
    return in_group(context, context.function)


def returns_nothing(observed: Any, *_: Any, **__: Any) -> None:
    if observed is not None:
        raise Mismatch(f"expected None, got {observed!r}")


charted("torch.distributed.barrier", prepare=wait_for_all).behaviour(
    "one-process", lambda inputs: [], returns_nothing, tags=("by-hand", "form-only", "no-array", QUICK)
)


def parallel_gradient(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    """Prepare the result of a layer in a group, and the gradient that the group computes. Creating the layer does not
    count as part of the call."""

    def call() -> Any:
        with context.surroundings():
            layer = linear_layer(weight)
            parallel = context.function(layer)
        result = parallel(values)
        result.sum().backward()
        return result.detach(), layer.weight.grad

    return in_group(context, call)


def linear_gradient(values: Array, weight: Array) -> tuple[Array, Array]:
    return values @ weight.T, np.tile(values.sum(0), (len(weight), 1))


charted("torch.nn.parallel.DistributedDataParallel", linear_gradient, parallel_gradient).value(
    "float32-one-process", of_layer, tags=TAGS
)


def replicated_gradient(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    """Prepare the results of ``parallel_gradient`` with a layer that is replicated on all devices, without a group."""

    def call() -> Any:
        layer = linear_layer(weight)
        result = context.function(layer)(values)
        result.sum().backward()
        return result.detach(), layer.weight.grad

    return call


charted("torch.nn.DataParallel", linear_gradient, replicated_gradient).value("float32-linear", of_layer, tags=TAGS)


def converted_normalization(context: Context, values: Any, training: bool) -> Callable[[], Any]:
    """Prepare a normalization that shares its statistics with other processes. Here there are no other processes."""
    import torch

    layers = torch.nn.Sequential(torch.nn.BatchNorm2d(values.shape[1], device=context.device))

    def call() -> Any:
        # The function creates parameters on the host before it takes over those of the layer.
        with context.surroundings():
            converted = context.function(layers)
        return converted.train(training)(values).detach()

    return call


def normalized(values: Array, training: bool) -> Array:
    """Normalize the values. Outside of training, use the statistics of a new layer: mean 0 and variance 1."""
    axes = (0, 2, 3)
    if not training:
        return np.asarray(values / np.sqrt(1 + 1e-5))
    centered = values - values.mean(axes, keepdims=True)
    return np.asarray(centered / np.sqrt(values.var(axes, keepdims=True) + 1e-5))


conversion = charted("torch.nn.SyncBatchNorm.convert_sync_batchnorm", normalized, converted_normalization)
for mode, training in {"training": True, "evaluating": False}.items():
    conversion.value(f"float32-{mode}", lambda inputs: [inputs.normal(3, 2, 4, 4)], training=training, tags=TAGS)
