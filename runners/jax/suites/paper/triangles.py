"""Cases of triangles: ``tril``, ``tril_indices_from``, ``triu_indices``; and of arrays with one value: ``ones``,
``zeros``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted, using
from runners.jax.suites.paper.creation import within_jit
from runners.suite.cases import Function
from runners.suite.checks import Expected


def lower(x: Any, k: int = 0) -> Any:
    """Set the elements above the diagonal to zero, even if they are NaN."""
    rows, columns = np.indices(x.shape[-2:])
    return np.where(columns - rows <= k, x, np.zeros((), x.dtype))


tril = Function("jax.numpy.tril", lower)
tril.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
tril.value("float32-wide-above", lambda inputs: [inputs.normal(5, 9)], k=2)
tril.value("float32-tall-below", lambda inputs: [inputs.normal(9, 5)], k=-3)
tril.value("float64", lambda inputs: [inputs.normal(12, 12)], dtype="float64")
tril.value("float16", lambda inputs: [inputs.normal(12, 12)], dtype="float16", k=-1)
tril.value("bfloat16", lambda inputs: [inputs.normal(12, 12)], dtype="bfloat16", k=1)
tril.value("complex64", lambda inputs: [inputs.normal(7, 7) + 1j * inputs.normal(7, 7)], dtype="complex64")
tril.value("int32", lambda inputs: [inputs.integers(8, 8, dtype="int32")])
tril.value("uint8", lambda inputs: [inputs.integers(8, 8, low=1, high=256, dtype="uint8")], k=-1)
tril.value("bool", lambda inputs: [inputs.booleans(9, 9)])
tril.value("batch", lambda inputs: [inputs.normal(2, 3, 6, 5)])
tril.value("nothing-left", lambda inputs: [inputs.normal(4, 4)], k=-4)
tril.value(
    "nan-and-infinity-above",
    lambda inputs: [np.where(np.triu(np.ones((4, 4)), 1) > 0, [np.nan, 1, np.inf, -np.inf], 2)],
)
tril.value("empty", lambda inputs: [inputs.normal(0, 4)])
tril.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted, k=1)
tril.value("vmap", lambda inputs: [inputs.normal(6, 5, 5)], prepare=in_vmap)
tril.value(
    "gradient",
    lambda inputs: [inputs.normal(6, 6), -1, inputs.normal(6, 6)],
    prepare=gradient,
    reference=lambda x, k, upstream: [lower(x, k), lower(upstream, k)],
)
tril.value(
    "nan-on-both-sides",
    lambda inputs: [np.array([[1.0, np.nan, np.inf], [np.nan, 2.0, np.nan], [-np.inf, 0.5, np.nan]])],
)


def places(shape: Any, wanted: Callable[[int, int], bool], dtype: str = "int32") -> Any:
    rows, columns = shape
    found = [(row, column) for row in range(rows) for column in range(columns) if wanted(row, column)]
    both = np.array(found, dtype).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def lower_places(x: Any, k: int = 0) -> Any:
    return places(x.shape, lambda row, column: column - row <= k)


tril_indices_from = Function("jax.numpy.tril_indices_from", lower_places)
tril_indices_from.value("float32-128x128", lambda inputs: [inputs.normal(128, 128)])
tril_indices_from.value("above", lambda inputs: [inputs.normal(6, 6)], k=2)
tril_indices_from.value("below", lambda inputs: [inputs.normal(6, 6)], k=-2)
tril_indices_from.value("wide", lambda inputs: [inputs.normal(4, 9)])
tril_indices_from.value("tall", lambda inputs: [inputs.normal(9, 4)], k=1)
tril_indices_from.value("bool", lambda inputs: [inputs.booleans(7, 7)])
tril_indices_from.value("int32", lambda inputs: [inputs.integers(7, 5, dtype="int32")])
tril_indices_from.value("bfloat16", lambda inputs: [inputs.normal(5, 7)], dtype="bfloat16")
tril_indices_from.value(
    "int64",
    lambda inputs: [inputs.integers(7, 5)],
    dtype="int64",
    reference=lambda x: places(x.shape, lambda row, column: column <= row, "int64"),
)
tril_indices_from.value("one-by-one", lambda inputs: [inputs.normal(1, 1)])
tril_indices_from.value("nowhere", lambda inputs: [inputs.normal(4, 4)], k=-4)
tril_indices_from.value("jitted", lambda inputs: [inputs.normal(12, 12)], prepare=jitted)


def upper_places(n: int, k: int = 0, m: int | None = None) -> Any:
    return places((n, n if m is None else m), lambda row, column: column - row >= k)


triu_indices = Function("jax.numpy.triu_indices", upper_places)
triu_indices.value("128", lambda inputs: [128])
triu_indices.value("above", lambda inputs: [7], k=2)
triu_indices.value("below", lambda inputs: [7], k=-2)
triu_indices.value("wide", lambda inputs: [4], m=9)
triu_indices.value("tall", lambda inputs: [9], m=4, k=1)
triu_indices.value("one", lambda inputs: [1])
triu_indices.value("nowhere", lambda inputs: [5], k=5)
triu_indices.value("everywhere", lambda inputs: [3], k=-3)
triu_indices.value("jitted", lambda inputs: [12], prepare=within_jit, k=1)
triu_indices.value(
    "int64",
    lambda inputs: [6],
    dtype="int64",
    reference=lambda n: places((n, n), lambda row, column: column >= row, "int64"),
)


def filled(value: int, dtype: str = "float32") -> Callable[..., Any]:
    return lambda shape: Expected(np.full(shape, value), dtype)


ones = Function("jax.numpy.ones", filled(1))
zeros = Function("jax.numpy.zeros", filled(0))
for function, value in ((ones, 1), (zeros, 0)):
    function.value("float32-256x256", lambda inputs: [(256, 256)])
    for dtype in ("float16", "bfloat16", "int32", "uint8", "bool", "complex64"):
        function.value(dtype, lambda inputs: [(12, 9)], prepare=using(dtype=dtype), reference=filled(value, dtype))
    for dtype in ("float64", "int64"):
        function.value(
            dtype, lambda inputs: [(12, 9)], dtype=dtype, prepare=using(dtype=dtype), reference=filled(value, dtype)
        )
    function.value("one-number", lambda inputs: [4096])
    function.value("scalar", lambda inputs: [()])
    function.value("empty", lambda inputs: [(3, 0, 2)])
    function.value("four-axes", lambda inputs: [(2, 3, 4, 5)])
    function.value("jitted", lambda inputs: [(64, 128)], prepare=within_jit)

FUNCTIONS: list[Function] = [tril, tril_indices_from, triu_indices, ones, zeros]
