"""Cases of functions that combine elements along axes: ``all``, ``average``, ``convolve``, and ``einsum_path``, which
plans such a sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted
from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Expected
from runners.suite.sequences import pairs


def all_of(x: Any, axis: Any = None, keepdims: bool = False, where: Any = True) -> Any:
    return np.asarray(np.all(x, axis=axis, keepdims=keepdims, where=where))


def mostly(inputs: Inputs, *shape: int) -> Any:
    """Make so many True values that about half of the rows are all True."""
    return inputs.rng.random(shape) < 0.5 ** (1 / shape[-1])


every = Function("jax.numpy.all", all_of)
every.value("bool-256x256-rows", lambda inputs: [mostly(inputs, 256, 256)], dtype="bool", axis=1)
every.value("bool", lambda inputs: [np.ones((40, 30), bool)], dtype="bool")
every.value("bool-but-one", lambda inputs: [np.arange(1200).reshape(40, 30) != 777], dtype="bool")
every.value("float32-rows", lambda inputs: [inputs.normal(20, 8) * mostly(inputs, 20, 8)], axis=-1)
every.value("float64", lambda inputs: [inputs.normal(20, 8) * mostly(inputs, 20, 8)], dtype="float64", axis=1)
every.value("bfloat16", lambda inputs: [inputs.normal(20, 8) * mostly(inputs, 20, 8)], dtype="bfloat16", axis=1)
every.value("int32-columns", lambda inputs: [inputs.integers(6, 40, low=0, high=7, dtype="int32")], axis=0)
every.value("uint8", lambda inputs: [inputs.integers(6, 40, low=0, high=7, dtype="uint8")], axis=0)
every.value("complex64", lambda inputs: [np.array([[1 - 1j, 2], [0, 1], [1 + 1j, 3]])], dtype="complex64", axis=1)
every.value("complex64-imaginary", lambda inputs: [np.array([1j, -2j, 3j])], dtype="complex64")
every.value("two-axes-kept", lambda inputs: [mostly(inputs, 9, 5, 4)], dtype="bool", axis=(0, -1), keepdims=True)
every.value("nan-is-true", lambda inputs: [np.array([[np.nan, 1.0], [np.inf, 0.0]])], axis=1)
every.value("empty", lambda inputs: [np.zeros((0, 3), bool)], dtype="bool", axis=0)
every.value("scalar", lambda inputs: [np.array(0.0)])
every.value("jitted", lambda inputs: [mostly(inputs, 64, 128)], dtype="bool", prepare=jitted, axis=0)
every.value(
    "vmap",
    lambda inputs: [mostly(inputs, 9, 12)],
    dtype="bool",
    prepare=in_vmap,
    reference=lambda x: np.all(x, axis=1),
)


def where_given(context: Context, x: Any, where: Any, **options: Any) -> Callable[[], Any]:
    return context.compiled(lambda: context.function(x, where=where, **options))


every.value(
    "where",
    lambda inputs: [inputs.integers(9, 12, low=0, high=3, dtype="int32"), inputs.booleans(9, 12)],
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
            weights = np.expand_dims(weights, [dimension for dimension in range(x.ndim) if dimension != axis % x.ndim])
        weights = np.broadcast_to(weights, np.shape(x))
        total = weights.sum(axis=axis, keepdims=keepdims)
        mean = (x * weights).sum(axis=axis, keepdims=keepdims) / total
    return [np.asarray(mean), np.asarray(total)] if returned else np.asarray(mean)


def weighted(context: Context, x: Any, weights: Any, **options: Any) -> Callable[[], Any]:
    return context.compiled(lambda: context.function(x, weights=weights, **options))


def by_weights(x: Any, weights: Any, **options: Any) -> Any:
    return averaged(x, weights=weights, **options)


def average_gradients(x: Any, axis: int, weights: Any, upstream: Any) -> Any:
    """Compute the gradients of a weighted mean: of a value, its weight divided by the total; of a weight, its value's
    distance from the mean divided by the total."""
    mean, total = averaged(x, axis, weights), weights.sum(axis=axis)
    return [mean, upstream * weights / total, upstream * (x - mean) / total]


average = Function("jax.numpy.average", averaged)
average.value("float32-256x256", lambda inputs: [inputs.uniform(256, 256)])
average.value("float32-rows", lambda inputs: [inputs.normal(64, 128)], axis=1)
average.value(
    "float64-two-axes-kept", lambda inputs: [inputs.normal(6, 7, 8)], dtype="float64", axis=(0, -1), keepdims=True
)
average.value("float16", lambda inputs: [inputs.uniform(20, 30)], dtype="float16", axis=0)
average.value("bfloat16", lambda inputs: [inputs.uniform(20, 30)], dtype="bfloat16", axis=0)
average.value("complex64", lambda inputs: [inputs.normal(9, 7) + 1j * inputs.normal(9, 7)], dtype="complex64", axis=0)
average.value("int32", lambda inputs: [inputs.integers(9, 7, dtype="int32")], axis=-1)
average.value("bool", lambda inputs: [inputs.booleans(9, 7)], axis=-1)
average.value(
    "weights", lambda inputs: [inputs.normal(40, 30), inputs.uniform(40, 30)], prepare=weighted, reference=by_weights
)
average.value(
    "weights-of-one-axis",
    lambda inputs: [inputs.normal(40, 30), inputs.uniform(30)],
    prepare=weighted,
    reference=by_weights,
    axis=1,
)
average.value(
    "weights-returned",
    lambda inputs: [inputs.normal(40, 30), inputs.uniform(40)],
    prepare=weighted,
    reference=by_weights,
    axis=0,
    returned=True,
)
average.value("count-returned", lambda inputs: [inputs.normal(12, 5)], axis=0, returned=True)
average.value(
    "weights-of-integers",
    lambda inputs: [inputs.normal(12), inputs.integers(12, low=1, dtype="int32")],
    prepare=weighted,
    reference=by_weights,
)
average.value("nothing", lambda inputs: [inputs.normal(0, 3)], reference=lambda x, axis: np.full(3, np.nan), axis=0)
average.value("nan", lambda inputs: [np.array([[1.0, np.nan], [2.0, 5.0]])], axis=1)
average.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted, axis=0)
average.value(
    "gradient",
    lambda inputs: [inputs.normal(8, 5), 0, inputs.uniform(8, 5, low=0.5), inputs.normal(5)],
    prepare=gradient,
    reference=average_gradients,
)
average.value(
    "kept-axis", lambda inputs: [np.array([[1.0, np.inf], [2.0, 5.0], [np.inf, -np.inf]])], axis=1, keepdims=True
)


def convolved(a: Any, v: Any, mode: Any = "full") -> Any:
    return np.asarray(np.convolve(a, v, mode)).astype(np.result_type(a, v))


def convolve_gradients(a: Any, v: Any, upstream: Any) -> Any:
    return [np.convolve(a, v), np.correlate(upstream, v, "valid"), np.correlate(upstream, a, "valid")]


convolve = Function("jax.numpy.convolve", convolved)
convolve.value("float32-4096-and-64", lambda inputs: [inputs.uniform(4096), inputs.uniform(64)])
convolve.value("float32-same", lambda inputs: [inputs.normal(200), inputs.normal(9)], mode="same")
convolve.value("float32-same-even", lambda inputs: [inputs.normal(200), inputs.normal(8)], mode="same")
convolve.value("float32-valid", lambda inputs: [inputs.normal(200), inputs.normal(9)], mode="valid")
convolve.value("second-longer", lambda inputs: [inputs.normal(7), inputs.normal(60)])
convolve.value("second-longer-same", lambda inputs: [inputs.normal(7), inputs.normal(60)], mode="same")
convolve.value("float64", lambda inputs: [inputs.normal(60), inputs.normal(13)], dtype="float64")
convolve.value("float16", lambda inputs: [inputs.uniform(60), inputs.uniform(6)], dtype="float16")
convolve.value("bfloat16", lambda inputs: [inputs.uniform(60), inputs.uniform(6)], dtype="bfloat16")
convolve.value(
    "complex64",
    lambda inputs: [inputs.normal(40) + 1j * inputs.normal(40), inputs.normal(6) - 1j * inputs.normal(6)],
    dtype="complex64",
)
# Unlike NumPy's function, this one converts integers to floats.
convolve.value(
    "int32",
    lambda inputs: [inputs.integers(50, dtype="int32"), inputs.integers(8, dtype="int32")],
    reference=lambda a, v: np.convolve(a, v).astype("float64"),
)
convolve.value("one-element", lambda inputs: [inputs.normal(50), inputs.uniform(1, low=2, high=3)])
convolve.value("jitted", lambda inputs: [inputs.normal(512), inputs.normal(16)], prepare=jitted)
convolve.value(
    "gradient",
    lambda inputs: [inputs.normal(40), inputs.normal(6), inputs.normal(45)],
    prepare=gradient,
    reference=convolve_gradients,
)
convolve.value(
    "float16-added-up-in-float32",
    lambda inputs: [inputs.uniform(60), inputs.uniform(6)],
    dtype="float16",
    reference=lambda a, v, preferred_element_type: Expected(np.convolve(a, v), preferred_element_type),
    preferred_element_type="float32",
)
convolve.value(
    "highest-precision",
    lambda inputs: [inputs.normal(200), inputs.normal(9)],
    reference=lambda a, v, precision: convolved(a, v),
    precision="highest",
)
convolve.value(
    "nan-and-infinity-reach-their-windows",
    lambda inputs: [np.array([1.0, np.nan, 2.0, 0.5, -1.0, 3.0, np.inf, 1.0, -2.0]), np.array([1.0, -0.5, 2.0])],
    mode="valid",
)


def order_alone(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the path without the report that the function also returns."""
    return lambda: context.function(*arguments, **options)[0]


def planned(subscripts: str, *operands: Any, optimize: Any = "optimal") -> Any:
    """Return the best order. For so few operands, JAX's default finds it, too."""
    return np.einsum_path(subscripts, *operands, optimize=optimize)[0][1:]


def matrices(inputs: Inputs, *sizes: int) -> Any:
    return [inputs.normal(*pair) for pair in pairs(sizes)]


def assert_report(path_and_report: Any, subscripts: str, *operands: Any) -> None:
    """Check the report. The naive cost has three factors for each combination of indices. The largest array is one of
    the two that are computed from left to right."""
    i, j, k, m = (*(operand.shape[0] for operand in operands), operands[-1].shape[1])
    naive, largest = path_and_report
    assert naive == 3 * i * j * k * m, f"naive cost {naive}"
    assert largest == max(i * k, i * m), f"largest array {largest}"


def costs(context: Context, *arguments: Any) -> Callable[[], Any]:
    def call() -> Any:
        report = context.function(*arguments)[1]
        return [int(report.naive_cost), int(report.largest_intermediate)]

    return call


einsum_path = Function(
    "jax.numpy.einsum_path",
    planned,
    prepare=order_alone,
)
einsum_path.value("chain-left-first", lambda inputs: ["ij,jk,kl->il", *matrices(inputs, 2, 100, 3, 90)])
einsum_path.value("chain-right-first", lambda inputs: ["ij,jk,kl->il", *matrices(inputs, 90, 80, 70, 2)])
einsum_path.value("chain-of-five", lambda inputs: ["ab,bc,cd,de,ef->af", *matrices(inputs, 40, 2, 30, 3, 20, 4)])
einsum_path.value("optimal", lambda inputs: ["ij,jk,kl->il", *matrices(inputs, 50, 3, 60, 2)], optimize="optimal")
einsum_path.value("pair", lambda inputs: ["ij,jk", *matrices(inputs, 4, 5, 6)])
einsum_path.value("greedy", lambda inputs: ["ij,jk,kl->il", *matrices(inputs, 2, 90, 30, 4)], optimize="greedy")
einsum_path.behaviour(
    "report", lambda inputs: ["ij,jk,kl->il", *matrices(inputs, 4, 5, 6, 7)], assert_report, prepare=costs
)

FUNCTIONS: list[Function] = [every, average, convolve, einsum_path]
