"""Cases of functions that compute each element separately: ``add``, ``cos``, ``exp``, ``lax.erf``, ``lax.integer_pow``,
``lax.ge``, ``lax.bitwise_and``, ``lax.stop_gradient``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from scipy import special

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted, tangent
from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Expected

EDGES = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan)


def edges(inputs: Inputs) -> Any:
    return np.array(EDGES)


def complex_normal(inputs: Inputs, *shape: int) -> Any:
    return inputs.normal(*shape) + 1j * inputs.normal(*shape)


def of_integers(function: Callable[[Any], Any], dtype: str = "float32") -> Callable[[Any], Any]:
    """Return the reference for integers and Booleans, which JAX converts to floats: float32, unless 64-bit types are
    on."""
    return lambda x: Expected(function(x.astype("float64")), dtype)


def full_range(inputs: Inputs, dtype: str) -> Any:
    info = np.iinfo(dtype)
    return [inputs.rng.integers(info.min, info.max, 60, dtype=dtype, endpoint=True) for _ in range(2)]


def overflowing(dtype: str) -> Callable[[Any], Any]:
    """Return a reference for exponentials that are infinite above the largest number of this dtype."""
    return lambda x: np.exp(x).astype(dtype).astype("float64")


def added(x: Any, y: Any) -> Any:
    return np.asarray(np.add(x, y))


add = Function("jax.numpy.add", added)
add.value("float32-256x256", lambda inputs: [inputs.normal(256, 256), inputs.normal(256, 256)])
add.value("float64", lambda inputs: [inputs.normal(33, 17), inputs.normal(33, 17)], dtype="float64")
add.value("float16", lambda inputs: [inputs.normal(33, 17), inputs.normal(33, 17)], dtype="float16")
add.value("bfloat16", lambda inputs: [inputs.normal(33, 17), inputs.normal(33, 17)], dtype="bfloat16")
add.value("complex64", lambda inputs: [complex_normal(inputs, 9, 7), inputs.normal(9, 7)], dtype="complex64")
add.value(
    "int32-wraps-around",
    lambda inputs: [np.array([2**31 - 1, -(2**31), 5, -7], "int32"), np.array([1, -1, 6, 9], "int32")],
    dtype="int32",
)
add.value(
    "uint8-wraps-around",
    lambda inputs: [
        inputs.integers(40, low=100, high=256, dtype="uint8"),
        inputs.integers(40, low=100, dtype="uint8", high=256),
    ],
    dtype="uint8",
)
add.value("int64", lambda inputs: [inputs.integers(8, low=2**40, high=2**41), inputs.integers(8)], dtype="int64")
add.value("bool-is-or", lambda inputs: [inputs.booleans(64), inputs.booleans(64)], dtype="bool")
add.value("rows-and-columns", lambda inputs: [inputs.normal(31, 1), inputs.normal(1, 17)])
add.value("int32-and-float32", lambda inputs: [inputs.integers(12, 5, dtype="int32"), inputs.normal(12, 5)])
add.value("bfloat16-and-python-float", lambda inputs: [inputs.normal(40), 1.5], dtype="bfloat16")
add.value("scalars", lambda inputs: [inputs.normal(), inputs.normal()])
add.value("empty", lambda inputs: [inputs.normal(0, 4), inputs.normal(4)])
add.value("infinities-and-nan", lambda inputs: [edges(inputs), np.array([np.inf, 1, np.nan, -1, -np.inf, 2, 3])])
add.value("jitted", lambda inputs: [inputs.normal(64, 128), inputs.normal(128)], prepare=jitted)
add.value("vmap", lambda inputs: [inputs.normal(6, 20), inputs.normal(6, 20)], prepare=in_vmap)
add.value(
    "gradient-of-broadcast",
    lambda inputs: [inputs.normal(8, 5), inputs.normal(5), inputs.normal(8, 5)],
    prepare=gradient,
    reference=lambda x, y, upstream: [x + y, upstream, upstream.sum(0)],
)

cos = Function("jax.numpy.cos", lambda x: np.asarray(np.cos(x)))
cos.value("float32-256x256", lambda inputs: [10 * inputs.normal(256, 256)])
cos.value("float64", lambda inputs: [10 * inputs.normal(31, 9)], dtype="float64")
cos.value("float16", lambda inputs: [3 * inputs.normal(31, 9)], dtype="float16")
cos.value("bfloat16", lambda inputs: [3 * inputs.normal(31, 9)], dtype="bfloat16")
cos.value("complex64", lambda inputs: [complex_normal(inputs, 31)], dtype="complex64")
cos.value("int32", lambda inputs: [inputs.integers(50, dtype="int32")], reference=of_integers(np.cos))
cos.value("bool", lambda inputs: [np.array([True, False, True])], reference=of_integers(np.cos))
cos.value("far-from-zero", lambda inputs: [inputs.uniform(200, low=-1e4, high=1e4)])
cos.value("edges", lambda inputs: [edges(inputs)])
cos.value("scalar", lambda inputs: [inputs.normal()])
cos.value("empty", lambda inputs: [inputs.normal(0, 3)])
cos.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted)
cos.value(
    "gradient",
    lambda inputs: [3 * inputs.normal(16, 16), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [np.cos(x), -np.sin(x) * upstream],
)
cos.value(
    "tangent",
    lambda inputs: [3 * inputs.normal(16), inputs.normal(16)],
    prepare=tangent,
    reference=lambda x, direction: [np.cos(x), -np.sin(x) * direction],
)

exp = Function("jax.numpy.exp", lambda x: np.asarray(np.exp(x)))
exp.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
exp.value("float64", lambda inputs: [5 * inputs.normal(31, 9)], dtype="float64")
exp.value("float16", lambda inputs: [2 * inputs.normal(31, 9)], dtype="float16")
exp.value("bfloat16", lambda inputs: [2 * inputs.normal(31, 9)], dtype="bfloat16")
exp.value("complex64", lambda inputs: [complex_normal(inputs, 31)], dtype="complex64")
exp.value("int32", lambda inputs: [inputs.integers(50, low=-10, high=5, dtype="int32")], reference=of_integers(np.exp))
exp.value(
    "large-and-small",
    lambda inputs: [np.array([80.0, 88.0, 89.5, -80.0, -110.0, 200.0])],
    reference=overflowing("float32"),
)
exp.value(
    "float16-overflows",
    lambda inputs: [np.array([10.0, 11.0, 11.5, -20.0])],
    dtype="float16",
    reference=overflowing("float16"),
)
exp.value("edges", lambda inputs: [edges(inputs)])
exp.value("scalar", lambda inputs: [inputs.normal()])
exp.value("empty", lambda inputs: [inputs.normal(0, 3)])
exp.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted)
exp.value("vmap", lambda inputs: [inputs.normal(6, 20)], prepare=in_vmap)
exp.value(
    "gradient",
    lambda inputs: [inputs.normal(16, 16), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [np.exp(x), np.exp(x) * upstream],
)

erf = Function("jax.lax.erf", lambda x: np.asarray(special.erf(x)))
erf.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
erf.value("float64", lambda inputs: [inputs.normal(31, 9)], dtype="float64")
erf.value("float16", lambda inputs: [inputs.normal(31, 9)], dtype="float16")
erf.value("bfloat16", lambda inputs: [inputs.normal(31, 9)], dtype="bfloat16")
erf.value("tails", lambda inputs: [np.linspace(-6, 6, 101)])
erf.value("near-zero", lambda inputs: [0.01 * inputs.normal(60)])
erf.value("edges", lambda inputs: [edges(inputs)])
erf.value("scalar", lambda inputs: [inputs.normal()])
erf.value("empty", lambda inputs: [inputs.normal(0, 3)])
erf.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted)
erf.value(
    "gradient",
    lambda inputs: [inputs.normal(16, 16), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [special.erf(x), 2 / np.pi**0.5 * np.exp(-(x**2)) * upstream],
)

integer_pow = Function("jax.lax.integer_pow", lambda x, y: np.asarray(np.power(x, y)))
integer_pow.value("float32-256x256-cubed", lambda inputs: [inputs.uniform(256, 256, low=0.5, high=2.0), 3])
integer_pow.value("float64-seventh", lambda inputs: [inputs.normal(20, 9), 7], dtype="float64")
integer_pow.value("float16-squared", lambda inputs: [inputs.normal(20, 9), 2], dtype="float16")
integer_pow.value("bfloat16-squared", lambda inputs: [inputs.normal(20, 9), 2], dtype="bfloat16")
integer_pow.value("complex64-cubed", lambda inputs: [complex_normal(inputs, 20), 3], dtype="complex64")
integer_pow.value("int32-fifth", lambda inputs: [inputs.integers(30, dtype="int32"), 5], dtype="int32")
integer_pow.value("negative-power", lambda inputs: [inputs.uniform(64, low=0.5, high=2.0), -3])
integer_pow.value("negative-power-of-zero", lambda inputs: [np.array([0.0, -0.0, np.inf, -np.inf, 2.0]), -1])
integer_pow.value("power-zero", lambda inputs: [np.array([0.0, 2.0, np.inf, np.nan]), 0])
integer_pow.value("jitted", lambda inputs: [inputs.uniform(64, 128, low=0.5, high=2.0), 4], prepare=jitted)
integer_pow.value(
    "gradient",
    lambda inputs: [inputs.uniform(16, 16, low=0.5, high=2.0), 3, inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, y, upstream: [x**y, y * x ** (y - 1) * upstream],
)

at_least = Function("jax.lax.ge", lambda x, y: np.asarray(np.greater_equal(x, y)))
at_least.value("float32-256x256", lambda inputs: [inputs.normal(256, 256), inputs.normal(256, 256)])
at_least.value("float64", lambda inputs: [inputs.normal(40), inputs.normal(40)], dtype="float64")
at_least.value("bfloat16", lambda inputs: [inputs.normal(400), inputs.normal(400)], dtype="bfloat16")
at_least.value("int32-ties", lambda inputs: [inputs.integers(90, dtype="int32"), inputs.integers(90, dtype="int32")])
at_least.value(
    "uint8",
    lambda inputs: [
        inputs.integers(90, low=0, high=256, dtype="uint8"),
        inputs.integers(90, low=0, high=256, dtype="uint8"),
    ],
)
at_least.value("bool", lambda inputs: [inputs.booleans(32), inputs.booleans(32)])
at_least.value(
    "nan-and-zeros", lambda inputs: [edges(inputs), np.array([-0.0, 0.0, np.nan, -1.0, np.inf, -np.inf, np.nan])]
)
at_least.value("python-scalar", lambda inputs: [inputs.normal(50), 0.25])
at_least.value("jitted", lambda inputs: [inputs.normal(64, 128), inputs.normal(64, 128)], prepare=jitted)

bits_in_both = Function("jax.lax.bitwise_and", lambda x, y: np.asarray(np.bitwise_and(x, y)))
bits_in_both.value(
    "int32-256x256",
    lambda inputs: [
        inputs.integers(256, 256, low=-(2**31), high=2**31, dtype="int32"),
        inputs.integers(256, 256, low=-(2**31), high=2**31, dtype="int32"),
    ],
    dtype="int32",
)
for name, like in (("int8", "int8"), ("uint8", "uint8"), ("int16", "int16"), ("uint16", "int32"), ("uint32", "int32")):
    bits_in_both.value(name, partial(full_range, dtype=name), dtype=like)
for name in ("int64", "uint64"):
    bits_in_both.value(name, partial(full_range, dtype=name), dtype="int64")
bits_in_both.value("bool", lambda inputs: [inputs.booleans(90), inputs.booleans(90)], dtype="bool")
bits_in_both.value("scalars", lambda inputs: [np.array(0b1101, "int32"), np.array(0b1011, "int32")], dtype="int32")
bits_in_both.value("empty", lambda inputs: [inputs.integers(0, dtype="int32")] * 2, dtype="int32")
bits_in_both.value(
    "jitted",
    lambda inputs: [inputs.integers(64, 128, dtype="int32"), inputs.integers(64, 128, dtype="int32")],
    dtype="int32",
    prepare=jitted,
)


def grown_past(context: Context, x: Any, upstream: Any) -> Callable[[], Any]:
    """Prepare the gradient of a product of the argument's square and the argument. The function stops the gradient of
    the square."""
    both = jax.jit(lambda x, upstream: jax.vjp(lambda x: context.function(x * x) * x, x)[1](upstream)[0])
    return context.compiled(lambda: both(x, upstream))


stop_gradient = Function("jax.lax.stop_gradient", lambda x: x)
stop_gradient.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
stop_gradient.value("bfloat16", lambda inputs: [inputs.normal(40)], dtype="bfloat16")
stop_gradient.value("int32", lambda inputs: [inputs.integers(40, dtype="int32")], dtype="int32")
stop_gradient.value(
    "tree", lambda inputs: [{"weights": inputs.normal(5, 3), "count": inputs.integers(2, dtype="int32")}]
)
stop_gradient.value(
    "gradient-is-zero",
    lambda inputs: [inputs.normal(16, 16), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [x, np.zeros_like(x)],
)
stop_gradient.value(
    "tangent-is-zero",
    lambda inputs: [inputs.normal(16), inputs.normal(16)],
    prepare=tangent,
    reference=lambda x, direction: [x, np.zeros_like(x)],
)
stop_gradient.value(
    "gradient-of-the-rest",
    lambda inputs: [inputs.normal(64, 128), inputs.normal(64, 128)],
    prepare=grown_past,
    reference=lambda x, upstream: x * x * upstream,
)
stop_gradient.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted)
stop_gradient.value("edges", lambda inputs: [edges(inputs)])

FUNCTIONS: list[Function] = [add, cos, exp, erf, integer_pow, at_least, bits_in_both, stop_gradient]
