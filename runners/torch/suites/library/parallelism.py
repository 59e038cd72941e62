"""Cases by hand of training in several processes, here in a group of one, and of layers that know of the others.

The functions used most of those that no shipped test gives, judged by NumPy, as those of ``by_hand.py``.
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
    """The call in a group of this process alone, by the device's own backend, or else the one that torch takes."""
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
    """An array after a collective that writes over it."""

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
    """The result of a layer in a group, which is made before the call, and the gradient that the group agrees on."""

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
    """The same by as many devices as there are, without a group."""

    def call() -> Any:
        layer = linear_layer(weight)
        result = context.function(layer)(values)
        result.sum().backward()
        return result.detach(), layer.weight.grad

    return call


charted("torch.nn.DataParallel", linear_gradient, replicated_gradient).value("float32-linear", of_layer, tags=TAGS)


def converted_normalization(context: Context, values: Any, training: bool) -> Callable[[], Any]:
    """A normalization that would share its statistics with other processes, of which there are none."""
    import torch

    layers = torch.nn.Sequential(torch.nn.BatchNorm2d(values.shape[1], device=context.device))

    def call() -> Any:
        # It makes parameters on the host before it takes those of the layer.
        with context.surroundings():
            converted = context.function(layers)
        return converted.train(training)(values).detach()

    return call


def normalized(values: Array, training: bool) -> Array:
    """By the statistics of a new layer, a mean of 0 and a variance of 1, where it is not training."""
    axes = (0, 2, 3)
    if not training:
        return np.asarray(values / np.sqrt(1 + 1e-5))
    centered = values - values.mean(axes, keepdims=True)
    return np.asarray(centered / np.sqrt(values.var(axes, keepdims=True) + 1e-5))


conversion = charted("torch.nn.SyncBatchNorm.convert_sync_batchnorm", normalized, converted_normalization)
for mode, training in {"training": True, "evaluating": False}.items():
    conversion.value(f"float32-{mode}", lambda inputs: [inputs.normal(3, 2, 4, 4)], training=training, tags=TAGS)
