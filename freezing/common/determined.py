"""Test whether the inputs determine a result: perturb their last digits and see whether the result changes.

If it changes, each device may return another result, because devices round differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from freezing.common.agreement import tolerance_of
from freezing.common.gate import Arguments, GatedFunction, SampleGate
from freezing.common.samples import Sample
from freezing.common.variants import SIZED_LARGE, SIZED_ODD, SIZED_ROWS, TAILS, Array
from runners.errors import LeftOutError
from runners.suite.frozen import PackSet, PackWriter
from runners.suite.rounding import rounded
from runners.suite.sequences import aligned

ROUNDED_ELSEWHERE = frozenset({TAILS, SIZED_ODD, SIZED_LARGE, SIZED_ROWS})
"""Kinds of inputs whose last digits may decide the result."""
SECOND_ORDER_TOLERANCES = 10
"""The number of tolerances by which the last digits of the inputs may change a second derivative. Near a pole, as that
of ``tan``, they change it by hundreds."""
LAST_DIGIT = 2.0**-23
"""The spacing of float32 numbers at 1. Each input is perturbed by a multiple of it."""
DIGITS = np.array([-2, -1, 1, 2])
"""The multiples of ``LAST_DIGIT`` by which elements are perturbed. Elements get different ones, to reveal
cancellation."""


def with_one_result(
    gate: SampleGate, subject: GatedFunction, samples: Iterator[Sample], pack: PackWriter, *, tolerances: int = 1
) -> Iterator[Sample]:
    """Yield the samples whose inputs determine the result. Add the others to the gate's list of left-out samples."""
    for sample in samples:
        try:
            require_determined(subject, sample, pack, together=False, tolerances=tolerances)
        except LeftOutError as error:
            gate.left_out.append((sample.name, error.kind, str(error)))
        else:
            yield sample


def require_determined(
    subject: GatedFunction, sample: Sample, pack: PackWriter | PackSet, *, together: bool, tolerances: int = 1
) -> None:
    """Raise ``LeftOutError`` if the last digits of the inputs decide the result.

    With ``together``, all inputs are multiplied by the same factor, so that differences of equal numbers stay zero.
    The result may change by ``tolerances`` times the tolerance of its dtype.
    """
    rng = np.random.default_rng(0)
    arrays = [pack.array(digest) for digest in sample.arrays]

    def move(array: Array) -> Array:
        if array.dtype.kind not in "fc":
            return array
        digits = DIGITS[rng.permutation(array.size) % DIGITS.size].reshape(array.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(array * (1 + LAST_DIGIT * (1 if together else digits)))

    pairs = zip(
        subject.references(sample.dtype, lambda: _fresh(subject, sample, arrays)),
        subject.references(sample.dtype, lambda: _fresh(subject, sample, list(map(move, arrays)))),
    )
    # The last reference is the function itself, which accepts every call. A NumPy function may only share its name.
    for (_, reference), (_, other) in reversed(list(pairs)):
        try:
            with np.errstate(all="ignore"):
                one, again = reference(), other()
        except Exception:  # this reference cannot compute the call, for example not in float64
            continue
        if len(one) != len(again) or not all(_close(a, b, sample.dtype, tolerances) for a, b in aligned(one, again)):
            raise LeftOutError("not determined", "the last digits of its inputs decide its result")
        return


def _fresh(subject: GatedFunction, sample: Sample, arrays: Sequence[Array]) -> Arguments:
    return subject.arguments(sample.call, subject.device.to_device(rounded(list(arrays), sample.dtype), sample.dtype))


def _close(one: Any, other: Any, dtype: str, tolerances: int) -> bool:
    if one is None or other is None:
        return one is other
    # Numbers that the dtype cannot represent become infinite in both results.
    a, b = rounded(np.asarray(one), dtype), rounded(np.asarray(other), dtype)
    tolerance = tolerance_of(dtype, [])
    if a.shape != b.shape or a.dtype.kind not in "biufc":
        return False
    relative, absolute = tolerances * tolerance.relative, tolerances * tolerance.absolute
    return bool(np.isclose(a, b, relative, absolute, equal_nan=True).all())
