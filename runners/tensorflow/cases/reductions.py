"""Functions that take an axis away: ``tf.math.reduce_mean``."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.cases import Function


def averaged(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(np.mean(x, axis=axis, keepdims=keepdims))


mean = Function("tf.math.reduce_mean", averaged)
mean.value("float32-256x256", lambda make: [make.uniform(256, 256)])
mean.value("float32-rows", lambda make: [make.normal(64, 128)], axis=1)

FUNCTIONS: list[Function] = [mean]
