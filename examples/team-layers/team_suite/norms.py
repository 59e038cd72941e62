"""Cases of the team's norm: its values, and its gradient by the closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs

Array = np.ndarray[Any, Any]


def normed(rows: Array, weight: Array, epsilon: float = 1e-6) -> Array:
    return rows / np.sqrt(np.mean(rows**2, -1, keepdims=True) + epsilon) * weight


def layer(context: Context, rows: Any, weight: Any, **options: Any) -> Callable[[], Any]:
    """The layer on the device, with this weight, and its forward pass as the call to time."""
    module = context.function(rows.shape[-1], **options).to(context.device, context.dtype)
    module.load_state_dict({"weight": weight})
    return context.compiled(lambda: module(rows))


def gradient(rows: Array, weight: Array, cotangent: Array, epsilon: float = 1e-6) -> Array:
    size = np.sqrt(np.mean(rows**2, -1, keepdims=True) + epsilon)
    weighed = cotangent * weight
    return weighed / size - rows * np.mean(weighed * rows, -1, keepdims=True) / size**3


def backward(context: Context, rows: Any, weight: Any, cotangent: Any, **options: Any) -> Callable[[], Any]:
    leaf = rows.detach().requires_grad_()
    forward = layer(context, leaf, weight, **options)
    return lambda: torch.autograd.grad(forward(), leaf, cotangent)[0]


def batch(inputs: Inputs) -> list[Array]:
    return [inputs.normal(64, 256), inputs.normal(256)]


rms_norm = Function("team_layers.RMSNorm", normed, prepare=layer)
rms_norm.value("float32", batch)
rms_norm.value("bfloat16", batch, dtype="bfloat16")
rms_norm.value("epsilon", batch, epsilon=0.1)
rms_norm.value("a-row-of-zeros", lambda inputs: [np.zeros((1, 8)), inputs.normal(8)])
rms_norm.value(
    "backward",
    lambda inputs: [inputs.normal(4, 32), inputs.normal(32), inputs.normal(4, 32)],
    reference=gradient,
    prepare=backward,
)

FUNCTIONS = [rms_norm]
