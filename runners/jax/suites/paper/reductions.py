"""Cases of functions that reduce axes: ``jax.numpy``'s ``sum``, ``prod``, ``max``, ``mean``, ``var``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted, using
from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import TOLERANCES, Expected

EDGES = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, -2.0], [np.inf, -np.inf, 0.0], [-np.inf, 3.0, 4.0]])


def complex_normal(inputs: Inputs, *shape: int) -> Any:
    return inputs.normal(*shape) + 1j * inputs.normal(*shape)


def where_given(context: Context, x: Any, where: Any, **options: Any) -> Callable[[], Any]:
    return context.compiled(lambda: context.function(x, where=where, **options))


def masked(reference: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, where, **options: reference(x, where=where, **options)


def spread(upstream: Any, x: Any, axis: Any) -> Any:
    """Return, for each element, the upstream gradient of its reduced value."""
    return np.broadcast_to(upstream if axis is None else np.expand_dims(upstream, axis), x.shape)


def added(x: Any, axis: Any = None, keepdims: bool = False, where: Any = True, initial: Any = 0) -> Any:
    return np.asarray(np.sum(x, axis=axis, keepdims=keepdims, where=where, initial=initial))


total = Function("jax.numpy.sum", added)
total.value("float32-256x256", lambda inputs: [inputs.uniform(256, 256)])
total.value("float32-rows", lambda inputs: [inputs.normal(64, 128)], axis=1)
total.value(
    "float64-two-axes-kept", lambda inputs: [inputs.normal(6, 7, 8)], dtype="float64", axis=(0, -1), keepdims=True
)
total.value("bfloat16-first-axis", lambda inputs: [inputs.uniform(64, 32)], dtype="bfloat16", axis=0)
total.value("float16", lambda inputs: [inputs.uniform(64, 32)], dtype="float16", axis=-1)
total.value("complex64", lambda inputs: [complex_normal(inputs, 9, 7)], dtype="complex64", axis=0)
total.value(
    "int32",
    lambda inputs: [inputs.integers(40, 9, dtype="int32")],
    reference=lambda x, axis: np.sum(x, axis=axis, dtype="int32"),
    axis=0,
)
total.value(
    "int32-wraps-around",
    lambda inputs: [np.full((3, 2), 2**30 + 7, "int32")],
    reference=lambda x: np.asarray(np.sum(x, dtype="int32")),
)
total.value(
    "uint8-is-widened",
    lambda inputs: [inputs.integers(40, 9, low=0, high=256, dtype="uint8")],
    reference=lambda x, axis: np.sum(x, axis=axis, dtype="uint32"),
    axis=0,
)
total.value(
    "bool-counts",
    lambda inputs: [inputs.booleans(40, 9)],
    reference=lambda x, axis: np.sum(x, axis=axis, dtype="int32"),
    axis=0,
)
total.value("int64", lambda inputs: [inputs.integers(12, low=2**40, high=2**41)], dtype="int64")
total.value(
    "bfloat16-to-float32",
    lambda inputs: [inputs.uniform(300)],
    dtype="bfloat16",
    prepare=using(dtype="float32"),
    reference=lambda x: Expected(x.sum(), "float32"),
)
total.value(
    "where",
    lambda inputs: [inputs.normal(9, 12), inputs.booleans(9, 12)],
    prepare=where_given,
    reference=masked(added),
    axis=1,
)
total.value("initial", lambda inputs: [inputs.normal(9, 12)], axis=1, initial=2.5)
total.value("empty", lambda inputs: [inputs.normal(0, 3)], axis=0)
total.value("scalar", lambda inputs: [inputs.normal()])
total.value("infinities-and-nan", lambda inputs: [EDGES], axis=1)
total.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted, axis=0)
total.value("vmap", lambda inputs: [inputs.normal(6, 20, 3)], prepare=in_vmap, reference=lambda x: x.sum((1, 2)))
total.value(
    "gradient",
    lambda inputs: [inputs.normal(8, 5, 4), (0, 2), inputs.normal(5)],
    prepare=gradient,
    reference=lambda x, axis, upstream: [x.sum(axis), spread(upstream, x, axis)],
)
total.value(
    "uint8-not-widened",
    lambda inputs: [inputs.integers(40, 9, low=0, high=256, dtype="uint8")],
    reference=lambda x, axis, promote_integers: np.sum(x, axis=axis, dtype="uint8"),
    axis=0,
    promote_integers=False,
)


def multiplied(x: Any, axis: Any = None, keepdims: bool = False, where: Any = True, initial: Any = 1) -> Any:
    return np.asarray(np.prod(x, axis=axis, keepdims=keepdims, where=where, initial=initial))


def others(x: Any, axis: int) -> Any:
    """Compute, for each element, the product of all other elements along the axis. This is correct for zeros, too."""
    members = [np.prod(np.delete(x, index, axis), axis) for index in range(x.shape[axis])]
    return np.stack(members, axis)


def near_one(inputs: Inputs, *shape: int) -> Any:
    signs = np.where(inputs.booleans(*shape), 1.0, -1.0)
    return signs * inputs.uniform(*shape, low=0.8, high=1.25)


product = Function("jax.numpy.prod", multiplied)
product.value("float32-256x64-columns", lambda inputs: [near_one(inputs, 64, 256)], axis=0)
product.value("float32-rows", lambda inputs: [near_one(inputs, 40, 30)], axis=-1)
product.value("float32-all", lambda inputs: [near_one(inputs, 6, 5)])
product.value(
    "float64-two-axes-kept", lambda inputs: [near_one(inputs, 6, 7, 4)], dtype="float64", axis=(0, -1), keepdims=True
)
product.value("float16", lambda inputs: [near_one(inputs, 12, 9)], dtype="float16", axis=0)
product.value("bfloat16", lambda inputs: [near_one(inputs, 12, 9)], dtype="bfloat16", axis=0)
product.value("complex64", lambda inputs: [np.exp(1j * inputs.normal(9, 7))], dtype="complex64", axis=0)
product.value(
    "int32",
    lambda inputs: [inputs.integers(5, 9, low=1, high=6, dtype="int32")],
    reference=lambda x, axis: np.prod(x, axis=axis, dtype="int32"),
    axis=0,
)
product.value(
    "int32-wraps-around",
    lambda inputs: [np.array([[65537, 65539, 3], [-7, 99991, 77773]], "int32")],
    reference=lambda x, axis: np.prod(x, axis=axis, dtype="int32"),
    axis=1,
)
product.value(
    "uint8-is-widened",
    lambda inputs: [inputs.integers(3, 9, low=1, high=256, dtype="uint8")],
    reference=lambda x, axis: np.prod(x, axis=axis, dtype="uint32"),
    axis=0,
)
product.value(
    "bool-is-all",
    lambda inputs: [np.array([[True, True], [True, False]])],
    reference=lambda x, axis: np.prod(x, axis=axis, dtype="int32"),
    axis=1,
)
product.value(
    "where",
    lambda inputs: [near_one(inputs, 9, 12), inputs.booleans(9, 12)],
    prepare=where_given,
    reference=masked(multiplied),
    axis=1,
)
product.value("initial", lambda inputs: [near_one(inputs, 9, 12)], axis=1, initial=-2.5)
product.value("empty-is-one", lambda inputs: [inputs.normal(0, 3)], axis=0)
product.value("infinities-and-nan", lambda inputs: [EDGES], axis=1)
product.value("jitted", lambda inputs: [near_one(inputs, 16, 128)], prepare=jitted, axis=0)
product.value(
    "gradient",
    lambda inputs: [near_one(inputs, 6, 5), 0, inputs.normal(5)],
    prepare=gradient,
    reference=lambda x, axis, upstream: [x.prod(axis), others(x, axis) * spread(upstream, x, axis)],
)
product.value(
    "gradient-with-a-zero",
    lambda inputs: [np.array([[2.0, 0.0, -3.0], [0.0, 5.0, 0.0], [1.5, 2.0, -4.0]]), 1, inputs.normal(3)],
    prepare=gradient,
    reference=lambda x, axis, upstream: [x.prod(axis), others(x, axis) * spread(upstream, x, axis)],
)
product.value(
    "uint8-not-widened",
    lambda inputs: [inputs.integers(5, 9, low=1, high=256, dtype="uint8")],
    reference=lambda x, axis, promote_integers: np.prod(x, axis=axis, dtype="uint8"),
    axis=0,
    promote_integers=False,
)
product.value(
    "bfloat16-to-float32",
    lambda inputs: [near_one(inputs, 60)],
    dtype="bfloat16",
    prepare=using(dtype="float32"),
    reference=lambda x: Expected(np.prod(x), "float32"),
)


def largest(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(np.max(x, axis=axis, keepdims=keepdims))


def max_gradients(x: Any, axis: int, upstream: Any) -> Any:
    """Compute a maximum and its gradient. Several equal maxima share the upstream gradient."""
    first = x == x.max(axis, keepdims=True)
    return [x.max(axis), first / first.sum(axis, keepdims=True) * spread(upstream, x, axis)]


maximum = Function("jax.numpy.max", largest)
maximum.value("float32-256x256", lambda inputs: [inputs.distinct(256, 256)])
maximum.value("float32-rows", lambda inputs: [inputs.normal(64, 128)], axis=1)
maximum.value(
    "float64-two-axes-kept", lambda inputs: [inputs.normal(6, 7, 8)], dtype="float64", axis=(0, -1), keepdims=True
)
maximum.value("float16", lambda inputs: [inputs.normal(40, 9)], dtype="float16", axis=0)
maximum.value("bfloat16", lambda inputs: [inputs.normal(40, 9)], dtype="bfloat16", axis=0)
maximum.value("int32", lambda inputs: [inputs.integers(40, 9, low=-(2**31), high=2**31, dtype="int32")], axis=0)
maximum.value("int64", lambda inputs: [inputs.integers(40, 9, low=-(2**60), high=2**60)], dtype="int64", axis=0)
maximum.value("uint8", lambda inputs: [inputs.integers(6, 9, low=0, high=256, dtype="uint8")], axis=0)
maximum.value("bool-is-any", lambda inputs: [inputs.booleans(2, 30)], dtype="bool", axis=0)
maximum.value("all-negative", lambda inputs: [-1 - inputs.uniform(12, 9)], axis=-1)
maximum.value("nan-wins", lambda inputs: [EDGES], axis=1)
maximum.value("scalar", lambda inputs: [inputs.normal()])
maximum.value("no-rows", lambda inputs: [inputs.normal(0, 3)], axis=1)
maximum.value(
    "empty-with-initial",
    lambda inputs: [inputs.normal(0, 3)],
    reference=lambda x, axis, initial: np.full(3, initial),
    axis=0,
    initial=-1.5,
)
maximum.value(
    "where",
    lambda inputs: [inputs.normal(9, 12), inputs.booleans(9, 12)],
    prepare=where_given,
    reference=lambda x, where, axis, initial: np.max(x, axis=axis, where=where, initial=initial),
    axis=1,
    initial=-0.5,
)
maximum.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted, axis=0)
maximum.value("vmap", lambda inputs: [inputs.normal(6, 20)], prepare=in_vmap, reference=lambda x: x.max(1))
maximum.value(
    "gradient",
    lambda inputs: [inputs.distinct(8, 5), 0, inputs.normal(5)],
    prepare=gradient,
    reference=max_gradients,
)
maximum.value(
    "gradient-of-ties",
    lambda inputs: [np.array([[2.0, 5.0, 5.0, 1.0], [3.0, 3.0, 3.0, 3.0]]), 1, inputs.normal(2)],
    prepare=gradient,
    reference=max_gradients,
)


def averaged(x: Any, axis: Any = None, keepdims: bool = False, where: Any = True) -> Any:
    """Compute a mean. The mean of integers is a float."""
    count = np.sum(np.broadcast_to(where, x.shape), axis=axis, keepdims=keepdims)
    return np.asarray(np.sum(x, axis=axis, keepdims=keepdims, where=where) / count)


mean = Function("jax.numpy.mean", averaged)
mean.value("float32-256x256", lambda inputs: [inputs.uniform(256, 256)])
mean.value("float32-rows", lambda inputs: [inputs.normal(64, 128)], axis=1)
mean.value(
    "float64-two-axes-kept", lambda inputs: [inputs.normal(6, 7, 8)], dtype="float64", axis=(0, -1), keepdims=True
)
# In a 16-bit sum, the total would stop growing long before the last number.
mean.value("float16-of-many", lambda inputs: [inputs.uniform(20000, low=5, high=6)], dtype="float16")
mean.value("bfloat16-of-many", lambda inputs: [inputs.uniform(4096, low=5, high=6)], dtype="bfloat16")
mean.value("complex64", lambda inputs: [complex_normal(inputs, 9, 7)], dtype="complex64", axis=0)
mean.value("int32", lambda inputs: [inputs.integers(40, 9, dtype="int32")], axis=-1)
mean.value("uint8", lambda inputs: [inputs.integers(40, 9, low=0, high=256, dtype="uint8")], axis=0)
mean.value("bool", lambda inputs: [inputs.booleans(40, 9)], axis=0)
mean.value(
    "where",
    lambda inputs: [inputs.normal(9, 12), inputs.booleans(9, 12)],
    prepare=where_given,
    reference=masked(averaged),
    axis=1,
)
mean.value("empty-is-nan", lambda inputs: [inputs.normal(0, 3)], axis=0)
mean.value("infinities-and-nan", lambda inputs: [EDGES], axis=1)
mean.value(
    "int32-to-float16",
    lambda inputs: [inputs.integers(30, dtype="int32")],
    dtype="float16",
    prepare=using(dtype="float16"),
)
mean.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted, axis=0)
mean.value("vmap", lambda inputs: [inputs.normal(6, 20)], prepare=in_vmap, reference=lambda x: x.mean(1))
mean.value(
    "gradient",
    lambda inputs: [inputs.normal(8, 5, 4), (0, 2), inputs.normal(5)],
    prepare=gradient,
    reference=lambda x, axis, upstream: [x.mean(axis), spread(upstream, x, axis) / 32],
)


def variance(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, where: Any = True) -> Any:
    """Compute the variance by its definition: the mean of the squared distances from the mean."""
    count = np.sum(np.broadcast_to(where, x.shape), axis=axis, keepdims=True)
    middle = np.sum(x, axis=axis, keepdims=True, where=where) / count
    squares = np.sum(abs(x - middle) ** 2, axis=axis, keepdims=True, where=where) / (count - ddof)
    return squares if keepdims else np.asarray(np.squeeze(squares, axis))


def mean_given(context: Context, x: Any, mean: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a variance whose mean is an argument."""
    return context.compiled(lambda: context.function(x, mean=mean, **options))


var = Function("jax.numpy.var", variance)
var.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
var.value("float32-rows", lambda inputs: [inputs.normal(64, 128)], axis=1)
var.value(
    "float64-two-axes-kept", lambda inputs: [inputs.normal(6, 7, 8)], dtype="float64", axis=(0, -1), keepdims=True
)
var.value("float16", lambda inputs: [inputs.normal(40, 9)], dtype="float16", axis=0)
var.value("bfloat16", lambda inputs: [inputs.normal(40, 9)], dtype="bfloat16", axis=0)
var.value("complex64-is-real", lambda inputs: [complex_normal(inputs, 20, 7)], dtype="complex64", axis=0)
var.value("int32", lambda inputs: [inputs.integers(40, 9, dtype="int32")], axis=-1)
var.value("bool", lambda inputs: [inputs.booleans(40, 9)], axis=0)
var.value("ddof", lambda inputs: [inputs.normal(12, 9)], axis=0, ddof=1)
# NumPy would divide by zero.
var.value(
    "ddof-as-many-as-elements-is-nan",
    lambda inputs: [np.array([[1.5, 4.0], [2.5, 2.5]])],
    reference=lambda x, axis, ddof: np.full(2, np.nan),
    axis=1,
    ddof=2,
)
var.value(
    "correction",
    lambda inputs: [inputs.normal(12, 9)],
    reference=lambda x, axis, correction: variance(x, axis, ddof=correction),
    axis=0,
    correction=1,
)
var.value("far-from-zero", lambda inputs: [1000 + 10 * inputs.normal(40, 9)], axis=0)
var.value(
    "where",
    lambda inputs: [inputs.normal(9, 12), inputs.booleans(9, 12)],
    prepare=where_given,
    reference=masked(variance),
    axis=1,
)
var.value("one-element-is-zero", lambda inputs: [inputs.normal(6, 1)], axis=1)
var.value("empty-is-nan", lambda inputs: [inputs.normal(0, 3)], axis=0)
var.value("infinities-and-nan", lambda inputs: [EDGES], axis=1)
var.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted, axis=0)
var.value(
    "gradient",
    lambda inputs: [inputs.normal(8, 5), 0, inputs.normal(5)],
    prepare=gradient,
    reference=lambda x, axis, upstream: [x.var(axis), 2 * (x - x.mean(axis)) / 8 * spread(upstream, x, axis)],
)
var.value(
    "mean-given",
    lambda inputs: [inputs.normal(12, 9), inputs.normal(1, 9)],
    prepare=mean_given,
    reference=lambda x, mean, axis: np.mean((x - mean) ** 2, axis=axis),
    axis=0,
)
var.value(
    "bfloat16-to-float32",
    lambda inputs: [inputs.normal(60)],
    dtype="bfloat16",
    # JAX computes in float32, and the bfloat16 inputs are exact in float32.
    tolerance=TOLERANCES["float32"],
    prepare=using(dtype="float32"),
    reference=lambda x: Expected(variance(x), "float32"),
)

FUNCTIONS: list[Function] = [total, product, maximum, mean, var]
