"""The suite ``vendor_kernels``: what the operation must give, by NumPy alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Tolerance

Array = np.ndarray[Any, Any]


def gated(gate: Array, value: Array) -> Array:
    return value * gate / (1 + np.exp(-gate))


def gradients(gate: Array, value: Array, cotangent: Array) -> tuple[Array, Array]:
    open_part = 1 / (1 + np.exp(-gate))
    return cotangent * value * open_part * (1 + gate * (1 - open_part)), cotangent * gate * open_part


def backward(context: Context, gate: Any, value: Any, cotangent: Any) -> Callable[[], Any]:
    def pull_back() -> Any:
        _, back = jax.vjp(context.function, gate, value)
        return back(cotangent)

    return context.compiled(pull_back)


def pair(inputs: Inputs) -> list[Array]:
    return [inputs.normal(128, 64), inputs.normal(128, 64)]


swiglu = Function("vendor_kernels.swiglu", gated)
swiglu.value("float32", pair)
# It rounds after each of three products.
swiglu.value("bfloat16", pair, dtype="bfloat16", tolerance=Tolerance(0.016, 0.008))
swiglu.value("empty", lambda inputs: [inputs.normal(0, 4), inputs.normal(0, 4)])
swiglu.value("backward", lambda inputs: [*pair(inputs), inputs.normal(128, 64)], reference=gradients, prepare=backward)

FUNCTIONS = [swiglu]
