"""Functions that combine elements along axes: ``all``, ``average``, ``convolve``; ``einsum_path`` plans such a sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted
from runners.suite.cases import Function, Make, On
from runners.suite.sequences import pairs


def all_of(x: Any, axis: Any = None, keepdims: bool = False, where: Any = True) -> Any:
    return np.asarray(np.all(x, axis=axis, keepdims=keepdims, where=where))


def mostly(make: Make, *shape: int) -> Any:
    """So many true values that whole rows are."""
    return make.rng.random(shape) < 0.5 ** (1 / shape[-1])


every = Function("jax.numpy.all", all_of)
every.value("bool-256x256-rows", lambda make: [mostly(make, 256, 256)], dtype="bool", axis=1)
every.value("bool", lambda make: [np.ones((40, 30), bool)], dtype="bool")
every.value("bool-but-one", lambda make: [np.arange(1200).reshape(40, 30) != 777], dtype="bool")
every.value("float32-rows", lambda make: [make.normal(20, 8) * mostly(make, 20, 8)], axis=-1)
every.value("float64", lambda make: [make.normal(20, 8) * mostly(make, 20, 8)], dtype="float64", axis=1)
every.value("bfloat16", lambda make: [make.normal(20, 8) * mostly(make, 20, 8)], dtype="bfloat16", axis=1)
every.value("int32-columns", lambda make: [make.integers(6, 40, low=0, high=7, dtype="int32")], axis=0)
every.value("uint8", lambda make: [make.integers(6, 40, low=0, high=7, dtype="uint8")], axis=0)
every.value("complex64", lambda make: [np.array([[1 - 1j, 2], [0, 1], [1 + 1j, 3]])], dtype="complex64", axis=1)
every.value("complex64-imaginary", lambda make: [np.array([1j, -2j, 3j])], dtype="complex64")
every.value("two-axes-kept", lambda make: [mostly(make, 9, 5, 4)], dtype="bool", axis=(0, -1), keepdims=True)
every.value("nan-is-true", lambda make: [np.array([[np.nan, 1.0], [np.inf, 0.0]])], axis=1)
every.value("empty", lambda make: [np.zeros((0, 3), bool)], dtype="bool", axis=0)
every.value("scalar", lambda make: [np.array(0.0)])
every.value("jitted", lambda make: [mostly(make, 64, 128)], dtype="bool", prepare=jitted, axis=0)
every.value(
    "vmap",
    lambda make: [mostly(make, 9, 12)],
    dtype="bool",
    prepare=in_vmap,
    reference=lambda x: np.all(x, axis=1),
)


def where_given(on: On, x: Any, where: Any, **options: Any) -> Callable[[], Any]:
    return on.compiled(lambda: on.function(x, where=where, **options))


every.value(
    "where",
    lambda make: [make.integers(9, 12, low=0, high=3, dtype="int32"), make.booleans(9, 12)],
    prepare=where_given,
    reference=lambda x, where, axis: np.all(x, axis=axis, where=where),
    axis=1,
)


def averaged(x: Any, axis: Any = None, weights: Any = None, keepdims: bool = False, returned: bool = False) -> Any:
    if weights is None:
        mean = np.mean(x, axis=axis, keepdims=keepdims)
        total = np.full_like(mean, np.size(x) / np.size(mean))
    else:
        if np.shape(weights) != np.shape(x):
            weights = np.expand_dims(weights, [each for each in range(x.ndim) if each != axis % x.ndim])
        weights = np.broadcast_to(weights, np.shape(x))
        total = weights.sum(axis=axis, keepdims=keepdims)
        mean = (x * weights).sum(axis=axis, keepdims=keepdims) / total
    return [np.asarray(mean), np.asarray(total)] if returned else np.asarray(mean)


def weighted(on: On, x: Any, weights: Any, **options: Any) -> Callable[[], Any]:
    return on.compiled(lambda: on.function(x, weights=weights, **options))


def by_weights(x: Any, weights: Any, **options: Any) -> Any:
    return averaged(x, weights=weights, **options)


def average_gradients(x: Any, axis: int, weights: Any, upstream: Any) -> Any:
    """The mean moves by a weight's share of the total; a weight moves it by its value's distance from the mean."""
    mean, total = averaged(x, axis, weights), weights.sum(axis=axis)
    return [mean, upstream * weights / total, upstream * (x - mean) / total]


average = Function("jax.numpy.average", averaged)
average.value("float32-256x256", lambda make: [make.uniform(256, 256)])
average.value("float32-rows", lambda make: [make.normal(64, 128)], axis=1)
average.value(
    "float64-two-axes-kept", lambda make: [make.normal(6, 7, 8)], dtype="float64", axis=(0, -1), keepdims=True
)
average.value("float16", lambda make: [make.uniform(20, 30)], dtype="float16", axis=0)
average.value("bfloat16", lambda make: [make.uniform(20, 30)], dtype="bfloat16", axis=0)
average.value("complex64", lambda make: [make.normal(9, 7) + 1j * make.normal(9, 7)], dtype="complex64", axis=0)
average.value("int32", lambda make: [make.integers(9, 7, dtype="int32")], axis=-1)
average.value("bool", lambda make: [make.booleans(9, 7)], axis=-1)
average.value(
    "weights", lambda make: [make.normal(40, 30), make.uniform(40, 30)], prepare=weighted, reference=by_weights
)
average.value(
    "weights-of-one-axis",
    lambda make: [make.normal(40, 30), make.uniform(30)],
    prepare=weighted,
    reference=by_weights,
    axis=1,
)
average.value(
    "weights-returned",
    lambda make: [make.normal(40, 30), make.uniform(40)],
    prepare=weighted,
    reference=by_weights,
    axis=0,
    returned=True,
)
average.value("count-returned", lambda make: [make.normal(12, 5)], axis=0, returned=True)
average.value(
    "weights-of-integers",
    lambda make: [make.normal(12), make.integers(12, low=1, dtype="int32")],
    prepare=weighted,
    reference=by_weights,
)
average.value("nothing", lambda make: [make.normal(0, 3)], reference=lambda x, axis: np.full(3, np.nan), axis=0)
average.value("nan", lambda make: [np.array([[1.0, np.nan], [2.0, 5.0]])], axis=1)
average.value("jitted", lambda make: [make.normal(64, 128)], prepare=jitted, axis=0)
average.value(
    "gradient",
    lambda make: [make.normal(8, 5), 0, make.uniform(8, 5, low=0.5), make.normal(5)],
    prepare=gradient,
    reference=average_gradients,
)


def convolved(a: Any, v: Any, mode: Any = "full") -> Any:
    return np.asarray(np.convolve(a, v, mode)).astype(np.result_type(a, v))


def convolve_gradients(a: Any, v: Any, upstream: Any) -> Any:
    return [np.convolve(a, v), np.correlate(upstream, v, "valid"), np.correlate(upstream, a, "valid")]


convolve = Function("jax.numpy.convolve", convolved)
convolve.value("float32-4096-and-64", lambda make: [make.uniform(4096), make.uniform(64)])
convolve.value("float32-same", lambda make: [make.normal(200), make.normal(9)], mode="same")
convolve.value("float32-same-even", lambda make: [make.normal(200), make.normal(8)], mode="same")
convolve.value("float32-valid", lambda make: [make.normal(200), make.normal(9)], mode="valid")
convolve.value("second-longer", lambda make: [make.normal(7), make.normal(60)])
convolve.value("second-longer-same", lambda make: [make.normal(7), make.normal(60)], mode="same")
convolve.value("float64", lambda make: [make.normal(60), make.normal(13)], dtype="float64")
convolve.value("float16", lambda make: [make.uniform(60), make.uniform(6)], dtype="float16")
convolve.value("bfloat16", lambda make: [make.uniform(60), make.uniform(6)], dtype="bfloat16")
convolve.value(
    "complex64",
    lambda make: [make.normal(40) + 1j * make.normal(40), make.normal(6) - 1j * make.normal(6)],
    dtype="complex64",
)
# Other than NumPy's, it makes whole numbers floating ones.
convolve.value(
    "int32",
    lambda make: [make.integers(50, dtype="int32"), make.integers(8, dtype="int32")],
    reference=lambda a, v: np.convolve(a, v).astype("float64"),
)
convolve.value("one-element", lambda make: [make.normal(50), make.uniform(1, low=2, high=3)])
convolve.value("jitted", lambda make: [make.normal(512), make.normal(16)], prepare=jitted)
convolve.value(
    "gradient",
    lambda make: [make.normal(40), make.normal(6), make.normal(45)],
    prepare=gradient,
    reference=convolve_gradients,
)


def order_alone(on: On, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """The path, without the report that comes with it."""
    return lambda: on.function(*arguments, **options)[0]


def planned(subscripts: str, *operands: Any, optimize: Any = "optimal") -> Any:
    """For so few operands JAX's own default is the best order, too."""
    return np.einsum_path(subscripts, *operands, optimize=optimize)[0][1:]


def matrices(make: Make, *sizes: int) -> Any:
    return [make.normal(*pair) for pair in pairs(sizes)]


def assert_report(path_and_report: Any, subscripts: str, *operands: Any) -> None:
    """All at once, three factors for each combination of the sizes; and the larger of the two arrays from the left."""
    i, j, k, m = (*(each.shape[0] for each in operands), operands[-1].shape[1])
    naive, largest = path_and_report
    assert naive == 3 * i * j * k * m, f"naive cost {naive}"
    assert largest == max(i * k, i * m), f"largest array {largest}"


def costs(on: On, *arguments: Any) -> Callable[[], Any]:
    def call() -> Any:
        report = on.function(*arguments)[1]
        return [int(report.naive_cost), int(report.largest_intermediate)]

    return call


einsum_path = Function(
    "jax.numpy.einsum_path",
    planned,
    prepare=order_alone,
    host_only="it plans from the shapes alone; no value is computed",
)
einsum_path.value("chain-left-first", lambda make: ["ij,jk,kl->il", *matrices(make, 2, 100, 3, 90)])
einsum_path.value("chain-right-first", lambda make: ["ij,jk,kl->il", *matrices(make, 90, 80, 70, 2)])
einsum_path.value("chain-of-five", lambda make: ["ab,bc,cd,de,ef->af", *matrices(make, 40, 2, 30, 3, 20, 4)])
einsum_path.value("optimal", lambda make: ["ij,jk,kl->il", *matrices(make, 50, 3, 60, 2)], optimize="optimal")
einsum_path.value("pair", lambda make: ["ij,jk", *matrices(make, 4, 5, 6)])
einsum_path.value("greedy", lambda make: ["ij,jk,kl->il", *matrices(make, 2, 90, 30, 4)], optimize="greedy")
einsum_path.behaviour(
    "report", lambda make: ["ij,jk,kl->il", *matrices(make, 4, 5, 6, 7)], assert_report, prepare=costs
)

FUNCTIONS: list[Function] = [every, average, convolve, einsum_path]
