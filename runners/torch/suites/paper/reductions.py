"""Cases of functions that sum over an axis: ``torch.sum``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.suite.cases import Function
from runners.suite.checks import Expected
from runners.torch.suites.paper import library
from runners.torch.suites.paper.calls import both, gradient, into, strided, using

NAN, INF = float("nan"), float("inf")


def added(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    axes = None if dim is None or dim == [] else tuple(np.atleast_1d(dim))
    return np.asarray(np.sum(x, axis=None if x.ndim == 0 else axes, keepdims=keepdim))


def spread(x: Any, upstream: Any, dim: int) -> Any:
    """Compute the gradient of a sum: the upstream gradient, repeated."""
    return [added(x, dim), np.broadcast_to(np.expand_dims(upstream, dim), x.shape)]


total = Function("torch.sum", added)
total.value("float32-256x256", lambda inputs: [inputs.uniform(256, 256)])
total.value("float32-rows", lambda inputs: [inputs.normal(64, 128)], dim=1)
total.value(
    "float64-two-dims-kept", lambda inputs: [inputs.normal(6, 7, 8)], dtype="float64", dim=[0, -1], keepdim=True
)
total.value("bfloat16-first-dim", lambda inputs: [inputs.uniform(64, 32)], dtype="bfloat16", dim=0)
total.value("float16-last-dim", lambda inputs: [inputs.uniform(16, 100)], dtype="float16", dim=-1)
total.value("complex64", lambda inputs: [inputs.normal(9, 20) + 1j * inputs.normal(9, 20)], dtype="complex64", dim=0)
total.value("int32-widens-to-int64", lambda inputs: [inputs.integers(4, 9, low=2**30, high=2**31 - 1, dtype="int32")])
total.value("bool-counts", lambda inputs: [inputs.booleans(30, 30)], dim=0)
total.value(
    "uint8-as-float64",
    lambda inputs: [inputs.integers(8, 8, low=0, high=255, dtype="uint8")],
    prepare=using(dtype=torch.float64),
    reference=lambda x: Expected(np.asarray(x.sum(dtype="float64")), "float64"),
)
total.value("nan-and-infinities", lambda inputs: [np.array([[1, NAN], [INF, 2], [INF, -INF], [-INF, 0]])], dim=1)
total.value("scalar", lambda inputs: [inputs.normal()])
total.value("empty-is-zero", lambda inputs: [inputs.normal(0, 4)], dim=0)
total.value("non-contiguous", lambda inputs: [inputs.uniform(12, 13)], dim=0, prepare=strided)
total.value("out", lambda inputs: [inputs.uniform(5, 6)], dim=1, prepare=into(), reference=both(added))
total.value(
    "gradient", lambda inputs: [inputs.normal(8, 9), inputs.normal(8)], dim=1, prepare=gradient, reference=spread
)
for sample in library.samples("sum"):
    total.value(sample.name, sample.inputs, **sample.options)

FUNCTIONS: list[Function] = [total]
