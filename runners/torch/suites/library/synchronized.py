"""Handwritten cases of a batch normalization that can share its statistics with other processes.

Here, no other processes exist, and the documentation allows the function to work alone. NumPy judges the result, as for
the cases of ``by_hand.py``, and also the buffers after a forward pass in training.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function
from runners.suite.checks import Expected
from runners.torch.suites.library.by_hand import TAGS, Array, chart_in

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)
EPS = 1e-5


def result_and_buffers(
    context: Context, values: Any, running_mean: Any, running_var: Any, batches: int, **options: Any
) -> Callable[[], Any]:
    """A forward pass in training of a layer that has seen so many batches before."""
    import torch

    layer = context.function(values.shape[1], device=context.device, **options)

    def call() -> Any:
        with torch.no_grad():
            layer.running_mean.copy_(running_mean)
            layer.running_var.copy_(running_var)
            layer.num_batches_tracked.fill_(batches)
        result = layer(values)
        buffers = {name: buffer.clone() for name, buffer in layer.named_buffers()}
        return [result.detach(), buffers]

    return call


def normalized_with_buffers(
    values: Array, running_mean: Array, running_var: Array, batches: int, momentum: float | None = 0.1
) -> Any:
    axes = (0, *range(2, values.ndim))
    mean, variance = values.mean(axes, keepdims=True), values.var(axes, keepdims=True)
    # Without a momentum, every batch so far has the same share.
    share = 1 / (batches + 1) if momentum is None else momentum
    unbiased = values.var(axes, ddof=1)
    return [
        (values - mean) / np.sqrt(variance + EPS),
        {
            "running_mean": (1 - share) * running_mean + share * mean.reshape(-1),
            "running_var": (1 - share) * running_var + share * unbiased,
            "num_batches_tracked": Expected(np.array(batches + 1), "int64"),
        },
    ]


layer = charted("torch.nn.SyncBatchNorm", normalized_with_buffers, result_and_buffers)
for name, momentum in {"momentum": 0.3, "cumulative": None}.items():
    layer.value(
        f"float32-{name}-buffers",
        lambda inputs: [inputs.normal(4, 3, 5), inputs.normal(3), inputs.uniform(3, low=0.5, high=2.0), 3],
        momentum=momentum,
        tags=(*TAGS, "module", "train", "buffers"),
    )
