"""Functions that take an axis away by adding up: ``jax.numpy.sum``."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.cases import Function


def added(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(np.sum(x, axis=axis, keepdims=keepdims))


total = Function("jax.numpy.sum", added)
total.value("float32-256x256", lambda make: [make.uniform(256, 256)])
total.value("float32-rows", lambda make: [make.normal(64, 128)], axis=1)
total.value("float64-two-axes-kept", lambda make: [make.normal(6, 7, 8)], dtype="float64", axis=(0, -1), keepdims=True)
total.value("bfloat16-first-axis", lambda make: [make.uniform(64, 32)], dtype="bfloat16", axis=0)

FUNCTIONS: list[Function] = [total]
