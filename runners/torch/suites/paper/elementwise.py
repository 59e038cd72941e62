"""Functions that treat every element alone: ``lt``, ``round``, ``log1p``, ``bitwise_not``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from runners.suite.cases import Function
from runners.suite.checks import EXACT
from runners.torch.suites.paper import library
from runners.torch.suites.paper.calls import both, gradient, into, strided

NAN, INF = float("nan"), float("inf")


less = Function("torch.lt", lambda x, other: np.asarray(x < other))
less.value("float32-256x256", lambda make: [make.normal(256, 256), make.normal(256, 256)])
less.value("float32-broadcast", lambda make: [make.normal(17, 1, 5), make.normal(9, 5)])
less.value("float32-number", lambda make: [make.normal(31), 0.25])
less.value("float64", lambda make: [1 + 1e-15 * make.integers(40), np.ones(40)], dtype="float64")
less.value("float16-ties", lambda make: [make.integers(20) / 4, make.integers(20) / 4], dtype="float16")
less.value("bfloat16-ties", lambda make: [make.integers(20) / 4, make.integers(20) / 4], dtype="bfloat16")
less.value("int64-past-2^53", lambda make: [2**53 + make.integers(30, high=3), np.array(2**53)])
less.value("int32-and-float32", lambda make: [make.integers(6, 7, dtype="int32"), make.normal(6, 7)])
less.value("uint8", lambda make: [make.integers(50, low=0, high=250, dtype="uint8"), 128])
less.value("bool", lambda make: [make.booleans(40), make.booleans(40)])
less.value(
    "nan-and-infinities",
    lambda make: [np.array([NAN, 1, NAN, -INF, INF, -INF]), np.array([1, NAN, NAN, INF, INF, -INF])],
)
less.value("empty", lambda make: [make.normal(0, 3), make.normal(1, 3)])
less.value("non-contiguous", lambda make: [make.normal(8, 9), make.normal(8, 9)], prepare=strided)
less.value(
    "out",
    lambda make: [make.normal(30), make.normal(30)],
    prepare=into(torch.bool),
    reference=both(lambda x, other: x < other),
)
for sample in library.samples("lt"):
    less.value(sample.name, sample.inputs)


def rounded(x: Any, decimals: int = 0) -> Any:
    """Half to even, by counting in units; not NumPy's own rounding."""
    unit = 10.0**-decimals
    with np.errstate(invalid="ignore"):
        below = np.floor(x / unit)
        over = x / unit - below
        up = (over > 0.5) | ((over == 0.5) & (np.mod(below, 2) == 1))
        return np.where(np.isfinite(x), (below + up) * unit, x)


halves = np.arange(-9, 10) / 2
round_ = Function("torch.round", rounded)
round_.value("float32-256x256", lambda make: [10 * make.normal(256, 256)])
round_.value("float32-half-to-even", lambda make: [halves], tolerance=EXACT)
round_.value("float64-half-to-even", lambda make: [halves], dtype="float64", tolerance=EXACT)
round_.value("float16-half-to-even", lambda make: [halves], dtype="float16", tolerance=EXACT)
round_.value("bfloat16-half-to-even", lambda make: [halves], dtype="bfloat16", tolerance=EXACT)
round_.value("float32-decimals", lambda make: [make.normal(50)], decimals=2)
round_.value("float64-tens", lambda make: [1000 * make.normal(50)], dtype="float64", decimals=-2)
round_.value("float32-past-2^23", lambda make: [2.0**23 + make.integers(20)], tolerance=EXACT)
round_.value("int64-stays", lambda make: [make.integers(20)], reference=lambda x: x)
round_.value("nan-and-infinities", lambda make: [np.array([NAN, INF, -INF, 0.5, 1.5])], tolerance=EXACT)
round_.value("scalar", lambda make: [np.array(2.75)])
round_.value("empty", lambda make: [make.normal(0, 2)])
round_.value("non-contiguous", lambda make: [5 * make.normal(7, 8)], prepare=strided)
round_.value("out", lambda make: [5 * make.normal(9)], prepare=into(), reference=both(rounded))
round_.value(
    "gradient-is-zero",
    lambda make: [3 * make.normal(6), make.normal(6)],
    prepare=gradient,
    reference=lambda x, upstream: [rounded(x), np.zeros_like(x)],
)
for sample in library.samples("round.decimals_3"):
    round_.value(f"thousandths-{sample.name}", sample.inputs, **sample.options)
for sample in library.samples("round.decimals_neg_3"):
    round_.value(f"thousands-{sample.name}", sample.inputs, **sample.options)


def logarithm(x: Any) -> Any:
    """By the inverse hyperbolic tangent, which needs no ``1 + x``; complex by modulus and angle."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if np.iscomplexobj(x):
            return np.log(np.hypot(1 + x.real, x.imag)) + 1j * np.arctan2(x.imag, 1 + x.real)
        return np.where(np.isposinf(x), INF, 2 * np.arctanh(x / (2 + np.where(np.isposinf(x), 0, x))))


log1p = Function("torch.log1p", logarithm)
log1p.value("float32-256x256", lambda make: [make.uniform(256, 256, low=-0.9, high=9)])
log1p.value("float64-near-zero", lambda make: [1e-3 * make.normal(40)], dtype="float64")
log1p.value(
    "float32-tiny-loses-no-digit",
    lambda make: [10 ** make.uniform(60, low=-7, high=-1)],
    reference=lambda x: logarithm(x) / x,
    prepare=lambda on, x: lambda: on.function(x) / x,
)
log1p.value("float16", lambda make: [make.uniform(30, high=50)], dtype="float16")
log1p.value("bfloat16", lambda make: [make.uniform(30, high=50)], dtype="bfloat16")
log1p.value("complex64", lambda make: [make.normal(12) + 1j * make.normal(12)], dtype="complex64")
log1p.value("int32-becomes-float32", lambda make: [make.integers(30, low=0, high=99, dtype="int32")])
log1p.value("bool-becomes-float32", lambda make: [make.booleans(9)], reference=lambda x: np.log(2) * x)
log1p.value("nan-infinity-and-the-edge", lambda make: [np.array([NAN, INF, -1.0, -1.5, -INF, 0.0, 3.0])])
log1p.value("scalar", lambda make: [make.uniform()])
log1p.value("empty", lambda make: [make.normal(0)])
log1p.value("non-contiguous", lambda make: [make.uniform(6, 7)], prepare=strided)
log1p.value("out", lambda make: [make.uniform(9)], prepare=into(), reference=both(logarithm))
log1p.value(
    "gradient",
    lambda make: [make.uniform(4, 9), make.normal(4, 9)],
    prepare=gradient,
    reference=lambda x, upstream: [logarithm(x), upstream / (1 + x)],
)
for sample in library.samples("log1p"):
    log1p.value(sample.name, sample.inputs)


def complement(x: Any) -> Any:
    """Two's complement says it without bits: -1 - x; an unsigned type counts from its top."""
    if x.dtype == np.bool_:
        return x == np.False_
    top = np.iinfo(x.dtype).max if x.dtype.kind == "u" else -1
    return (top - x.astype("int64")).astype(x.dtype)


bitwise_not = Function("torch.bitwise_not", complement)
bitwise_not.value("int64-256x256", lambda make: [make.integers(256, 256, low=-(2**62), high=2**62)], dtype="int64")
bitwise_not.value("int32", lambda make: [make.integers(40, dtype="int32")], dtype="int32")
bitwise_not.value("int16", lambda make: [make.integers(40, dtype="int16")], dtype="int16")
bitwise_not.value("int8-ends", lambda make: [np.array([-128, -1, 0, 1, 127], "int8")], dtype="int8")
bitwise_not.value("uint8-ends", lambda make: [np.array([0, 1, 127, 128, 255], "uint8")], dtype="uint8")
bitwise_not.value("bool", lambda make: [make.booleans(5, 6)], dtype="bool")
bitwise_not.value("int64-ends", lambda make: [np.array([-(2**63), -1, 0, 2**63 - 1])], dtype="int64")
bitwise_not.value("scalar", lambda make: [np.array(41)], dtype="int64")
bitwise_not.value("empty", lambda make: [make.integers(2, 0)], dtype="int64")
bitwise_not.value("non-contiguous", lambda make: [make.integers(6, 7)], dtype="int64", prepare=strided)
bitwise_not.value("out", lambda make: [make.integers(9)], dtype="int64", prepare=into(), reference=both(complement))
for sample in library.samples("bitwise_not"):
    bitwise_not.value(sample.name, sample.inputs, dtype="int64")

FUNCTIONS: list[Function] = [less, round_, log1p, bitwise_not]
