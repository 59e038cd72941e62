"""Cases of functions that compute each element separately: ``lt``, ``round``, ``log1p``, ``bitwise_not``."""

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
less.value("float32-256x256", lambda inputs: [inputs.normal(256, 256), inputs.normal(256, 256)])
less.value("float32-broadcast", lambda inputs: [inputs.normal(17, 1, 5), inputs.normal(9, 5)])
less.value("float32-number", lambda inputs: [inputs.normal(31), 0.25])
less.value("float64", lambda inputs: [1 + 1e-15 * inputs.integers(40), np.ones(40)], dtype="float64")
less.value("float16-ties", lambda inputs: [inputs.integers(20) / 4, inputs.integers(20) / 4], dtype="float16")
less.value("bfloat16-ties", lambda inputs: [inputs.integers(20) / 4, inputs.integers(20) / 4], dtype="bfloat16")
less.value("int64-past-2^53", lambda inputs: [2**53 + inputs.integers(30, high=3), np.array(2**53)])
less.value("int32-and-float32", lambda inputs: [inputs.integers(6, 7, dtype="int32"), inputs.normal(6, 7)])
less.value("uint8", lambda inputs: [inputs.integers(50, low=0, high=250, dtype="uint8"), 128])
less.value("bool", lambda inputs: [inputs.booleans(40), inputs.booleans(40)])
less.value(
    "nan-and-infinities",
    lambda inputs: [np.array([NAN, 1, NAN, -INF, INF, -INF]), np.array([1, NAN, NAN, INF, INF, -INF])],
)
less.value("empty", lambda inputs: [inputs.normal(0, 3), inputs.normal(1, 3)])
less.value("non-contiguous", lambda inputs: [inputs.normal(8, 9), inputs.normal(8, 9)], prepare=strided)
less.value(
    "out",
    lambda inputs: [inputs.normal(30), inputs.normal(30)],
    prepare=into(torch.bool),
    reference=both(lambda x, other: x < other),
)
for sample in library.samples("lt"):
    less.value(sample.name, sample.inputs)


def rounded(x: Any, decimals: int = 0) -> Any:
    """Round half to even by counting units, without NumPy's own rounding."""
    unit = 10.0**-decimals
    with np.errstate(invalid="ignore"):
        below = np.floor(x / unit)
        over = x / unit - below
        up = (over > 0.5) | ((over == 0.5) & (np.mod(below, 2) == 1))
        return np.where(np.isfinite(x), (below + up) * unit, x)


halves = np.arange(-9, 10) / 2
round_ = Function("torch.round", rounded)
round_.value("float32-256x256", lambda inputs: [10 * inputs.normal(256, 256)])
round_.value("float32-half-to-even", lambda inputs: [halves], tolerance=EXACT)
round_.value("float64-half-to-even", lambda inputs: [halves], dtype="float64", tolerance=EXACT)
round_.value("float16-half-to-even", lambda inputs: [halves], dtype="float16", tolerance=EXACT)
round_.value("bfloat16-half-to-even", lambda inputs: [halves], dtype="bfloat16", tolerance=EXACT)
round_.value("float32-decimals", lambda inputs: [inputs.normal(50)], decimals=2)
round_.value("float64-tens", lambda inputs: [1000 * inputs.normal(50)], dtype="float64", decimals=-2)
round_.value("float32-past-2^23", lambda inputs: [2.0**23 + inputs.integers(20)], tolerance=EXACT)
round_.value("int64-stays", lambda inputs: [inputs.integers(20)], reference=lambda x: x)
round_.value("nan-and-infinities", lambda inputs: [np.array([NAN, INF, -INF, 0.5, 1.5])], tolerance=EXACT)
round_.value("scalar", lambda inputs: [np.array(2.75)])
round_.value("empty", lambda inputs: [inputs.normal(0, 2)])
round_.value("non-contiguous", lambda inputs: [5 * inputs.normal(7, 8)], prepare=strided)
round_.value("out", lambda inputs: [5 * inputs.normal(9)], prepare=into(), reference=both(rounded))
round_.value(
    "gradient-is-zero",
    lambda inputs: [3 * inputs.normal(6), inputs.normal(6)],
    prepare=gradient,
    reference=lambda x, upstream: [rounded(x), np.zeros_like(x)],
)
for sample in library.samples("round.decimals_3"):
    round_.value(f"thousandths-{sample.name}", sample.inputs, **sample.options)
for sample in library.samples("round.decimals_neg_3"):
    round_.value(f"thousands-{sample.name}", sample.inputs, **sample.options)


def logarithm(x: Any) -> Any:
    """Compute ``log1p`` with the inverse hyperbolic tangent, which avoids ``1 + x``, or for complex numbers from
    modulus and angle."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if np.iscomplexobj(x):
            return np.log(np.hypot(1 + x.real, x.imag)) + 1j * np.arctan2(x.imag, 1 + x.real)
        return np.where(np.isposinf(x), INF, 2 * np.arctanh(x / (2 + np.where(np.isposinf(x), 0, x))))


log1p = Function("torch.log1p", logarithm)
log1p.value("float32-256x256", lambda inputs: [inputs.uniform(256, 256, low=-0.9, high=9)])
log1p.value("float64-near-zero", lambda inputs: [1e-3 * inputs.normal(40)], dtype="float64")
log1p.value(
    "float32-tiny-loses-no-digit",
    lambda inputs: [10 ** inputs.uniform(60, low=-7, high=-1)],
    reference=lambda x: logarithm(x) / x,
    prepare=lambda context, x: lambda: context.function(x) / x,
)
log1p.value("float16", lambda inputs: [inputs.uniform(30, high=50)], dtype="float16")
log1p.value("bfloat16", lambda inputs: [inputs.uniform(30, high=50)], dtype="bfloat16")
log1p.value("complex64", lambda inputs: [inputs.normal(12) + 1j * inputs.normal(12)], dtype="complex64")
log1p.value("int32-becomes-float32", lambda inputs: [inputs.integers(30, low=0, high=99, dtype="int32")])
log1p.value("bool-becomes-float32", lambda inputs: [inputs.booleans(9)], reference=lambda x: np.log(2) * x)
log1p.value("nan-infinity-and-the-edge", lambda inputs: [np.array([NAN, INF, -1.0, -1.5, -INF, 0.0, 3.0])])
log1p.value("scalar", lambda inputs: [inputs.uniform()])
log1p.value("empty", lambda inputs: [inputs.normal(0)])
log1p.value("non-contiguous", lambda inputs: [inputs.uniform(6, 7)], prepare=strided)
log1p.value("out", lambda inputs: [inputs.uniform(9)], prepare=into(), reference=both(logarithm))
log1p.value(
    "gradient",
    lambda inputs: [inputs.uniform(4, 9), inputs.normal(4, 9)],
    prepare=gradient,
    reference=lambda x, upstream: [logarithm(x), upstream / (1 + x)],
)
for sample in library.samples("log1p"):
    log1p.value(sample.name, sample.inputs)


def complement(x: Any) -> Any:
    """Compute ``bitwise_not`` without bit operations: -1 - x in two's complement, and the largest value - x for
    unsigned types."""
    if x.dtype == np.bool_:
        return x == np.False_
    top = np.iinfo(x.dtype).max if x.dtype.kind == "u" else -1
    return (top - x.astype("int64")).astype(x.dtype)


bitwise_not = Function("torch.bitwise_not", complement)
bitwise_not.value("int64-256x256", lambda inputs: [inputs.integers(256, 256, low=-(2**62), high=2**62)], dtype="int64")
bitwise_not.value("int32", lambda inputs: [inputs.integers(40, dtype="int32")], dtype="int32")
bitwise_not.value("int16", lambda inputs: [inputs.integers(40, dtype="int16")], dtype="int16")
bitwise_not.value("int8-ends", lambda inputs: [np.array([-128, -1, 0, 1, 127], "int8")], dtype="int8")
bitwise_not.value("uint8-ends", lambda inputs: [np.array([0, 1, 127, 128, 255], "uint8")], dtype="uint8")
bitwise_not.value("bool", lambda inputs: [inputs.booleans(5, 6)], dtype="bool")
bitwise_not.value("int64-ends", lambda inputs: [np.array([-(2**63), -1, 0, 2**63 - 1])], dtype="int64")
bitwise_not.value("scalar", lambda inputs: [np.array(41)], dtype="int64")
bitwise_not.value("empty", lambda inputs: [inputs.integers(2, 0)], dtype="int64")
bitwise_not.value("non-contiguous", lambda inputs: [inputs.integers(6, 7)], dtype="int64", prepare=strided)
bitwise_not.value("out", lambda inputs: [inputs.integers(9)], dtype="int64", prepare=into(), reference=both(complement))
for sample in library.samples("bitwise_not"):
    bitwise_not.value(sample.name, sample.inputs, dtype="int64")

FUNCTIONS: list[Function] = [less, round_, log1p, bitwise_not]
