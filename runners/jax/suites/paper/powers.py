"""Cases of powers and their inverses, for each element: ``log``, ``power``, ``sqrt``."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted, tangent
from runners.jax.suites.paper.elementwise import complex_normal, edges, of_integers
from runners.suite.cases import Function, MakeArguments

log = Function("jax.numpy.log", lambda x: np.asarray(np.log(x)))
log.value("float32-256x256", lambda inputs: [inputs.uniform(256, 256, low=0.01, high=10)])
log.value("float64", lambda inputs: [np.exp(5 * inputs.normal(31, 9))], dtype="float64")
log.value("float16", lambda inputs: [inputs.uniform(31, 9, low=0.1, high=10)], dtype="float16")
log.value("bfloat16", lambda inputs: [inputs.uniform(31, 9, low=0.1, high=10)], dtype="bfloat16")
log.value("complex64", lambda inputs: [complex_normal(inputs, 60)], dtype="complex64")
log.value("complex64-of-negative", lambda inputs: [-1 - inputs.uniform(9) + 0j], dtype="complex64")
log.value("int32", lambda inputs: [inputs.integers(50, low=1, high=99, dtype="int32")], reference=of_integers(np.log))
log.value("large-and-small", lambda inputs: [np.exp(inputs.uniform(100, low=-80, high=80))])
log.value("near-one", lambda inputs: [1 + 0.01 * inputs.normal(100)])
log.value("edges", lambda inputs: [edges(inputs)])
log.value("scalar", lambda inputs: [inputs.uniform(low=2, high=9)])
log.value("empty", lambda inputs: [inputs.normal(0, 3)])
log.value("jitted", lambda inputs: [inputs.uniform(64, 128, low=0.1, high=9)], prepare=jitted)
log.value("vmap", lambda inputs: [inputs.uniform(6, 20, low=0.1, high=9)], prepare=in_vmap)
log.value(
    "gradient",
    lambda inputs: [inputs.uniform(16, 16, low=0.3, high=4), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [np.log(x), upstream / x],
)
log.value(
    "tangent",
    lambda inputs: [inputs.uniform(16, low=0.3, high=4), inputs.normal(16)],
    prepare=tangent,
    reference=lambda x, direction: [np.log(x), direction / x],
)


def raised(x: Any, y: Any) -> Any:
    return np.asarray(np.power(x, y))


def power_gradients(x: Any, y: Any, upstream: Any) -> Any:
    return [x**y, upstream * y * x ** (y - 1), upstream * x**y * np.log(x)]


power = Function("jax.numpy.power", raised)
power.value(
    "float32-256x256",
    lambda inputs: [inputs.uniform(256, 256, low=0.2, high=3), inputs.uniform(256, 256, low=-2, high=3)],
)
power.value(
    "float64",
    lambda inputs: [inputs.uniform(31, 9, low=0.1, high=5), 3 * inputs.normal(31, 9)],
    dtype="float64",
)
for dtype in ("float16", "bfloat16"):
    power.value(dtype, lambda inputs: [inputs.uniform(31, 9, low=0.5, high=2), inputs.normal(31, 9)], dtype=dtype)
power.value("complex64", lambda inputs: [complex_normal(inputs, 30), inputs.normal(30) + 0.5j], dtype="complex64")
power.value(
    "int32",
    lambda inputs: [
        inputs.integers(60, low=-6, high=6, dtype="int32"),
        inputs.integers(60, low=0, high=9, dtype="int32"),
    ],
    dtype="int32",
)
power.value(
    "int32-wraps-around",
    lambda inputs: [np.array([7, -11, 3, 46341], "int32"), np.array([13, 15, 21, 2], "int32")],
    dtype="int32",
)
power.value(
    "uint8-wraps-around",
    lambda inputs: [
        inputs.integers(60, low=0, high=256, dtype="uint8"),
        inputs.integers(60, low=0, high=6, dtype="uint8"),
    ],
    dtype="uint8",
)
power.value(
    "float32-and-int32",
    lambda inputs: [inputs.normal(12, 5), inputs.integers(12, 5, low=0, high=5, dtype="int32")],
    reference=lambda x, y: np.power(x, y.astype("float64")),
)


def to_the(exponent: float) -> MakeArguments:
    return lambda inputs: [inputs.uniform(40, low=0.3, high=3), exponent]


for exponent in (2, 3, 0, -1, -3, 0.5, -1.5):
    power.value(f"exponent-{exponent:g}", to_the(exponent))
power.value(
    "negative-to-whole", lambda inputs: [inputs.normal(40), inputs.integers(40, low=0, high=6).astype("float64")]
)
power.value("negative-to-fraction-is-nan", lambda inputs: [-inputs.uniform(9, low=1, high=2), inputs.uniform(9)])
power.value("python-base", lambda inputs: [2.5, inputs.normal(40)])
power.value("rows-and-columns", lambda inputs: [inputs.uniform(31, 1, low=0.5, high=2), inputs.normal(1, 17)])
power.value("edges", lambda inputs: [np.repeat(edges(inputs), 7), np.tile(edges(inputs), 7)])
power.value("empty", lambda inputs: [inputs.normal(0, 4), inputs.normal(4)])
power.value(
    "jitted",
    lambda inputs: [inputs.uniform(64, 128, low=0.5, high=2), inputs.normal(64, 128)],
    prepare=jitted,
)
power.value("vmap", lambda inputs: [inputs.uniform(6, 20, low=0.5, high=2), inputs.normal(6, 20)], prepare=in_vmap)
power.value(
    "gradient",
    lambda inputs: [inputs.uniform(16, 9, low=0.5, high=2), inputs.normal(16, 9), inputs.normal(16, 9)],
    prepare=gradient,
    reference=power_gradients,
)
power.value(
    "gradient-whole-exponent",
    lambda inputs: [inputs.normal(16, 9), 3, inputs.normal(16, 9)],
    prepare=gradient,
    reference=lambda x, y, upstream: [x**3, 3 * x**2 * upstream],
)
power.value(
    "gradient-at-zero",
    lambda inputs: [np.array([0.0, 0.0, 2.0]), 2.0, np.array([1.0, 3.0, 0.5])],
    prepare=gradient,
    reference=lambda x, y, upstream: [x**2, 2 * x * upstream],
)

sqrt = Function("jax.numpy.sqrt", lambda x: np.asarray(np.sqrt(x)))
sqrt.value("float32-256x256", lambda inputs: [inputs.uniform(256, 256, high=100)])
sqrt.value("float64", lambda inputs: [np.exp(5 * inputs.normal(31, 9))], dtype="float64")
sqrt.value("float16", lambda inputs: [inputs.uniform(31, 9, high=100)], dtype="float16")
sqrt.value("bfloat16", lambda inputs: [inputs.uniform(31, 9, high=100)], dtype="bfloat16")
sqrt.value("complex64", lambda inputs: [complex_normal(inputs, 60)], dtype="complex64")
sqrt.value("complex64-of-negative", lambda inputs: [-2 - inputs.uniform(9) + 0j], dtype="complex64")
sqrt.value("int32", lambda inputs: [inputs.integers(50, low=0, high=99, dtype="int32")], reference=of_integers(np.sqrt))
sqrt.value("uint8", lambda inputs: [np.arange(256).astype("uint8")], reference=of_integers(np.sqrt))
sqrt.value("squares", lambda inputs: [np.arange(2.0, 200) ** 2])
sqrt.value("large-and-small", lambda inputs: [np.exp(inputs.uniform(100, low=-20, high=80))])
sqrt.value("edges", lambda inputs: [edges(inputs)])
sqrt.value("scalar", lambda inputs: [inputs.uniform(low=2, high=9)])
sqrt.value("empty", lambda inputs: [inputs.normal(0, 3)])
sqrt.value("jitted", lambda inputs: [inputs.uniform(64, 128, high=9)], prepare=jitted)
sqrt.value("vmap", lambda inputs: [inputs.uniform(6, 20, high=9)], prepare=in_vmap)
sqrt.value(
    "gradient",
    lambda inputs: [inputs.uniform(16, 16, low=0.3, high=4), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [np.sqrt(x), upstream / (2 * np.sqrt(x))],
)
sqrt.value(
    "gradient-at-zero-is-infinite",
    lambda inputs: [np.array([0.0, 4.0]), np.array([1.0, 3.0])],
    prepare=gradient,
    reference=lambda x, upstream: [np.sqrt(x), upstream / (2 * np.sqrt(x))],
)

FUNCTIONS: list[Function] = [log, power, sqrt]
