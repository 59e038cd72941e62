"""Decides whether a wrong value is a matter of precision, that is, whether a float type's rounding explains it.

A wider tolerance would prove nothing: it also accepts a variance that is divided by n instead of n - 1. Imports no
framework.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runners.suite.rounding import to_bfloat16

NARROWER: Mapping[str, str] = {
    "float64": "float32",
    "float32": "bfloat16",
    "float16": "bfloat16",
    "complex128": "complex64",
    "complex64": "bfloat16",
}
"""The next narrower float type."""
ROUNDOFF: Mapping[str, float] = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "complex128": 2.0**-52,
    "complex64": 2.0**-23,
}
"""The relative error of one rounding."""
SPREAD = 4.0
"""An error of n additions counts as rounding up to SPREAD * sqrt(n) roundings, since errors up and down cancel out.

The worst case, n roundings in one direction, would explain too much: a variance of n samples that is divided by n
instead of n - 1 is off by 1 / n, which is less than n roundings of float32 from n = 4096 on.
"""
MOST = 0.25
"""The maximum relative error that counts as accumulated rounding. Without it the bound would grow without limit."""
FEW = 3
"""The minimum number of values to test: fewer can lie on a narrower type's grid by chance."""

Array = np.ndarray[Any, Any]


def is_rounded(observed: Array, narrower: str) -> bool:
    """Whether all values lie on the narrower type's grid.

    Multiples of 1/256 do not count, because small ones lie on every grid. At least ``FEW`` other values (or all, if the
    array is smaller) must remain, so that a chance agreement is unlikely.
    """
    values = np.unique(observed[np.isfinite(observed)].astype(complex if np.iscomplexobj(observed) else float))
    if np.iscomplexobj(values):
        values = np.unique(np.concatenate([values.real, values.imag]))
    uneven = values[values * 256 != np.round(values * 256)]
    return bool(uneven.size >= min(FEW, observed.size) and np.array_equal(_narrowed(uneven, narrower), uneven))


def _narrowed(values: Array, narrower: str) -> Array:
    with np.errstate(over="ignore"):
        return to_bfloat16(values) if narrower == "bfloat16" else values.astype(np.float32)


def is_accumulated(observed: Array, expected: Array, dtype: str, terms: int) -> bool:
    """Whether all errors are small enough to come from adding this many terms of the expected size in ``dtype``."""
    finite = np.isfinite(observed) & np.isfinite(expected)
    if dtype not in ROUNDOFF or terms < 2 or not np.array_equal(observed[~finite], expected[~finite], equal_nan=True):
        return False
    errors = np.abs(observed - expected)[finite]
    largest = float(np.abs(expected[finite]).max(initial=0.0))
    roundings = min(terms, SPREAD * math.sqrt(terms))
    return bool((errors <= min(roundings * ROUNDOFF[dtype], MOST) * largest).all())


def terms(inputs: Sequence[Any], result: Array) -> int:
    """Return how many terms each value of the result may be the sum of, judged by the shapes; 1 if it is no sum."""
    shapes = [value.shape for value in inputs if isinstance(value, np.ndarray) and value.dtype.kind in "fc"]
    for one, other in zip(shapes, shapes[1:]):
        contracted = len(one) > 1 and len(other) > 1 and one[-1] == other[-2]
        if contracted and result.shape[-2:] == (one[-2], other[-1]):
            return int(one[-1])
    largest = max((int(np.prod(shape)) for shape in shapes), default=1)
    return max(1, largest // max(1, result.size))
