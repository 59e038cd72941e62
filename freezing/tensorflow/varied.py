"""Varied calls of a public function: frozen cases with other inputs, as samples for the gate."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from freezing.common.kinds import kinds_of
from freezing.common.numbered import Change, has_numbers, numbers_after
from freezing.common.samples import Sample
from freezing.common.variants import LARGE_ELEMENTS, SIZED_LARGE, SIZED_ODD, Array, Call, Variant, is_contiguous
from protocol.enums import NON_FINITE
from runners.suite.frozen import PackSet, PackWriter, repeat_to
from runners.suite.rounding import dtype_on_device

STEPS = (1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024)
"""The factors by which copies along each axis are scaled. No two copies of an element get the same factor."""


def _rows(call: Call) -> int:
    """Return the length of the first axis of the first array that has an axis."""
    return next((array.shape[0] for array in call.arrays if array.ndim), 0)


def _without_rows(call: Call, rng: np.random.Generator) -> Call:
    rows = _rows(call)
    return call.having({
        number: array[:0] for number, array in enumerate(call.arrays) if array.ndim and len(array) == rows
    })  # fmt: skip


NO_ROWS = Variant("no-rows", "", lambda call: _rows(call) > 0, _without_rows)
"""Removes all rows of the first array, and of the arrays with as many rows."""


def _longer(array: Array, axis: int, length: int) -> Array:
    """Lengthen an axis by repeating each element next to itself, so that sorted numbers stay sorted."""
    longer: Array = np.take(array, np.arange(length) * array.shape[axis] // length, axis)
    return longer


def _with_more_rows(length: Callable[[int, Call], int]) -> Change:
    """Lengthen the first array, and the arrays with as many rows."""

    def change(call: Call, rng: np.random.Generator) -> Call:
        rows = _rows(call)
        return call.having({
            number: _longer(array, 0, length(rows, call))
            for number, array in enumerate(call.arrays)
            if array.ndim and len(array) == rows
        })  # fmt: skip

    return change


def _image(call: Call) -> int | None:
    """Return the number of the first array with the most axes; None if its axes before the last cannot be
    lengthened."""
    if not call.arrays or not is_contiguous(call):
        return None
    number = max(range(len(call.arrays)), key=lambda place: (call.arrays[place].ndim, -place))
    return number if max(call.arrays[number].shape[:-1], default=0) > 1 else None


def _with_more_inside(length: Callable[[int, Call], int]) -> Change:
    """Lengthen all axes of one array but the last, because channels and coordinates have a fixed length."""

    def change(call: Call, rng: np.random.Generator) -> Call:
        number = _image(call)
        assert number is not None
        array = call.arrays[number]
        shape = [length(size, call) if size > 1 else size for size in array.shape[:-1]]
        return call.having({number: repeat_to(array, (*shape, array.shape[-1]))})

    return change


def _distinct_copies(call: Call, rng: np.random.Generator) -> Call:
    """Lengthen all axes. Copies of floats are scaled, so that the largest element is unique."""

    def of(array: Array) -> Array:
        shape = [2 * size + 1 if size > 1 else size for size in array.shape]
        copies = repeat_to(array, shape)
        if array.dtype.kind != "f":
            return copies
        scales = sum(
            np.ix_(*(np.arange(new) // max(old, 1) * step for new, old, step in zip(shape, array.shape, STEPS)))
        )
        return np.asarray(copies * (1 + scales), array.dtype)

    return call.having({number: of(array) for number, array in enumerate(call.arrays)})


def _odd(size: int, call: Call) -> int:
    return 2 * size + 1


def _large(size: int, call: Call) -> int:
    """Return the new length of an axis, so that two lengthened axes make the largest array large. The number of rows
    stays small."""
    largest = max(array.size for array in call.arrays)
    return size * (math.isqrt(LARGE_ELEMENTS // largest) + 1)


def _many(size: int, call: Call) -> int:
    return size * (LARGE_ELEMENTS // max(array.size for array in call.arrays) + 1)


def _repeated(length: Callable[[int, Call], int]) -> Change:
    """Lengthen all axes."""

    def change(call: Call, rng: np.random.Generator) -> Call:
        shapes = [[length(size, call) if size > 1 else size for size in array.shape] for array in call.arrays]
        return call.having({number: repeat_to(array, shapes[number]) for number, array in enumerate(call.arrays)})

    return change


def _has_rows(call: Call) -> bool:
    return _rows(call) > 1 and is_contiguous(call)


def _has_inside(call: Call) -> bool:
    return _image(call) is not None


def _has_plain_floats(call: Call) -> bool:
    return bool(call.floats) and is_contiguous(call) and all(array.ndim <= len(STEPS) for array in call.arrays)


NUMBER_VARIANTS: Sequence[Variant] = (
    Variant(
        "numbers-odd",
        SIZED_ODD,
        lambda call: _has_inside(call) and has_numbers(call),
        numbers_after(_with_more_inside(_odd)),
    ),
    Variant(
        "shapes-odd",
        SIZED_ODD,
        lambda call: is_contiguous(call) and has_numbers(call),
        numbers_after(_repeated(_odd)),
    ),
)
"""Variants with larger arrays and larger integers in the call, such as the size of a resized image, a window or a
shape."""
SIZED: Sequence[Variant] = (
    Variant("copies-odd", SIZED_ODD, _has_plain_floats, _distinct_copies),
    Variant("inside-odd", SIZED_ODD, _has_inside, _with_more_inside(_odd)),
    Variant("rows-odd", SIZED_ODD, _has_rows, _with_more_rows(_odd)),
    Variant("inside-large", SIZED_LARGE, _has_inside, _with_more_inside(_large)),
    Variant("rows-large", SIZED_LARGE, _has_rows, _with_more_rows(_many)),
)
"""Variants in other sizes for functions that refuse arrays with all axes lengthened, or whose result is then not
determined."""


def _nan_inside(call: Call, rng: np.random.Generator) -> Call:
    """Lengthen the inner axes of one array, and put one NaN into it."""
    number = _image(call)
    assert number is not None
    larger = _with_more_inside(_odd)(call, rng)
    array = larger.arrays[number].copy()
    array.reshape(-1)[rng.integers(array.size)] = math.nan
    return larger.having({number: array})


def _has_inside_of_floats(call: Call) -> bool:
    return _has_inside(call) and _image(call) in call.floats


NAN_INSIDE: Sequence[Variant] = tuple(
    Variant(name, NON_FINITE, _has_inside_of_floats, _nan_inside)
    for name in ("nan-inside", "nan-inside-2", "nan-inside-3")
)
"""One NaN in a larger image, at different places. Where a sample falls exactly on an element, libraries may multiply
another element by 0, so some places are not determined."""


def _tied(call: Call, rng: np.random.Generator) -> Call:
    """Replace each float by one of two, so that most rows have several largest and smallest elements. Arrays of one
    shape share the two floats."""
    arrays = {}
    pairs: dict[tuple[int, ...], Array] = {}
    for number in call.floats:
        array = call.arrays[number]
        values = np.unique(array)
        pair = pairs.setdefault(array.shape, values[[0, -1]])
        arrays[number] = np.asarray(rng.choice(pair, array.shape), array.dtype)
    return call.having(arrays)


TIED = Variant("tied", "", lambda call: bool(call.floats), _tied)


def call_of(case: Mapping[str, Any], pack: PackSet) -> Call:
    arrays = tuple(pack.array(digest) for digest in case["arrays"])
    name = f"{case['function']}/{case['name']}"
    inputs = frozenset(range(len(arrays)))
    return Call(name, case["dtype"], frozenset(case["tags"]), arrays, json.loads(case["call"]), inputs)


def sample_of(case: Mapping[str, Any], new_call: Call, variant: Variant, pack: PackWriter) -> Sample:
    """Make the sample of a case's changed call, and add its arrays to the pack."""
    digests = tuple(pack.add(array, dtype_on_device(array, new_call.dtype)) for array in new_call.arrays)
    shapes = [array.shape for array in new_call.arrays]
    return Sample(
        f"{case['name']}-{variant.name}",
        new_call.dtype,
        json.dumps(new_call.written, separators=(",", ":")),
        digests,
        (*kinds_of(shapes, new_call.dtype), *variant.tags),
        sum(array.size for array in new_call.arrays),
    )
