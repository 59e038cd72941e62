"""Cases of functions that order values: ``torch.argsort``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.suite.cases import Function
from runners.torch.suites.paper import library
from runners.torch.suites.paper.calls import both, into, strided

NAN, INF = float("nan"), float("inf")


def ordered(x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Sort, with NaN as the largest value. A case without ``stable`` must have no ties."""
    if x.ndim == 0:
        return np.zeros((), "int64")
    if not descending:
        return np.argsort(x, dim, kind="stable")
    backwards = np.argsort(np.flip(x, dim), dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(backwards, dim)


argsort = Function("torch.argsort", ordered)
argsort.value("float32-64x128", lambda inputs: [inputs.distinct(64, 128)])
argsort.value("float32-descending", lambda inputs: [inputs.distinct(33, 65)], descending=True)
argsort.value("float64-first-dim", lambda inputs: [inputs.distinct(40, 3)], dtype="float64", dim=0)
argsort.value("float16-negative-dim", lambda inputs: [inputs.distinct(5, 6, 7)], dtype="float16", dim=-2)
argsort.value("bfloat16-vector", lambda inputs: [inputs.distinct(200)], dtype="bfloat16")
argsort.value("int64-duplicates-stable", lambda inputs: [inputs.integers(50, 9, high=0)], dim=0, stable=True)
argsort.value(
    "uint8-duplicates-stable-descending",
    lambda inputs: [inputs.integers(12, 40, low=0, dtype="uint8")],
    descending=True,
    stable=True,
)
argsort.value("bool-stable", lambda inputs: [inputs.booleans(7, 31)], stable=True)
argsort.value("nan-and-infinities", lambda inputs: [np.array([2.0, NAN, -INF, 0.5, INF, -3.0])])
argsort.value(
    "nan-first-when-descending",
    lambda inputs: [np.array([2.0, NAN, -INF, 0.5, INF, NAN])],
    descending=True,
    stable=True,
)
argsort.value("scalar", lambda inputs: [inputs.normal()])
argsort.value("empty", lambda inputs: [inputs.normal(3, 0)], dim=1)
argsort.value("non-contiguous", lambda inputs: [inputs.distinct(9, 17)], prepare=strided)
for sample in library.samples("argsort"):
    argsort.value(sample.name, sample.inputs, **sample.options)
argsort.value(
    "out",
    lambda inputs: [inputs.distinct(9, 17)],
    dim=0,
    stable=True,
    prepare=into(torch.int64),
    reference=both(ordered),
)

FUNCTIONS: list[Function] = [argsort]
