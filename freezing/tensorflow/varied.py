"""Varied calls of a public function: frozen cases with other inputs, as samples for the gate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from freezing.common.agreement import tolerance_of
from freezing.common.gate import Arguments, Subject
from freezing.common.kinds import kinds_of
from freezing.common.samples import Sample
from freezing.common.variants import Array, Call, Variant
from runners.errors import LeftOutError
from runners.suite.frozen import PackSet, PackWriter
from runners.suite.rounding import dtype_on_device, rounded
from runners.suite.sequences import aligned

LAST_DIGIT = 2.0**-23
"""Of a float32, by which an input is moved to see whether its result is determined."""
DIGITS = np.array([-2, -1, 1, 2])
"""How far: neighbors differently, so that what they lose by cancellation shows."""


def _rows(call: Call) -> int:
    """The length of the first axis of the first array that has one."""
    return next((array.shape[0] for array in call.arrays if array.ndim), 0)


def _without_rows(call: Call, rng: np.random.Generator) -> Call:
    rows = _rows(call)
    return call.having({
        number: array[:0] for number, array in enumerate(call.arrays) if array.ndim and len(array) == rows
    })  # fmt: skip


NO_ROWS = Variant("no-rows", "", lambda call: _rows(call) > 0, _without_rows)
"""No rows in the first array, and in those that have as many."""


def call_of(case: Mapping[str, Any], pack: PackSet) -> Call:
    arrays = tuple(pack.array(digest) for digest in case["arrays"])
    name = f"{case['function']}/{case['name']}"
    inputs = frozenset(range(len(arrays)))
    return Call(name, case["dtype"], frozenset(case["tags"]), arrays, json.loads(case["call"]), inputs)


def sample_of(case: Mapping[str, Any], changed: Call, variant: Variant, pack: PackWriter) -> Sample:
    """The sample of a case's changed call, whose arrays are kept."""
    digests = tuple(pack.add(array, dtype_on_device(array, changed.dtype)) for array in changed.arrays)
    shapes = [array.shape for array in changed.arrays]
    return Sample(
        f"{case['name']}-{variant.name}",
        changed.dtype,
        json.dumps(changed.written, separators=(",", ":")),
        digests,
        (*kinds_of(shapes, changed.dtype), *variant.tags),
        sum(array.size for array in changed.arrays),
    )


def require_determined(subject: Subject, sample: Sample, pack: PackWriter, *, together: bool) -> None:
    """Raise ``LeftOutError`` if the last digits of the inputs decide the result: every device rounds otherwise.

    ``together``: all inputs are moved by one factor, as what is left of equal numbers is determined.
    """
    rng = np.random.default_rng(0)
    arrays = [pack.array(digest) for digest in sample.arrays]

    def moved(array: Array) -> Array:
        if array.dtype.kind != "f":
            return array
        digits = DIGITS[rng.permutation(array.size) % DIGITS.size].reshape(array.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(array * (1 + LAST_DIGIT * (1 if together else digits)))

    pairs = zip(
        subject.references(sample.dtype, lambda: _fresh(subject, sample, arrays)),
        subject.references(sample.dtype, lambda: _fresh(subject, sample, list(map(moved, arrays)))),
    )
    # The function itself comes last, and fits every call; NumPy's may only have the same name.
    for (_, reference), (_, other) in reversed(list(pairs)):
        try:
            with np.errstate(all="ignore"):
                one, again = reference(), other()
        except Exception:  # it has no float64
            continue
        if len(one) != len(again) or not all(_close(a, b, sample.dtype) for a, b in aligned(one, again)):
            raise LeftOutError("not determined", "the last digits of its inputs decide its result")
        return


def _fresh(subject: Subject, sample: Sample, arrays: Sequence[Array]) -> Arguments:
    return subject.arguments(sample.call, subject.device.to_device(rounded(list(arrays), sample.dtype), sample.dtype))


def _close(one: Any, other: Any, dtype: str) -> bool:
    if one is None or other is None:
        return one is other
    # What the dtype cannot hold is infinite in both.
    a, b = rounded(np.asarray(one), dtype), rounded(np.asarray(other), dtype)
    tolerance = tolerance_of(dtype, [])
    if a.shape != b.shape or a.dtype.kind not in "biufc":
        return False
    return bool(np.isclose(a, b, tolerance.relative, tolerance.absolute, equal_nan=True).all())
