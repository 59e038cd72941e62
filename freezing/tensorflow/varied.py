"""Varied calls of a public function: frozen cases with other inputs, as samples for the gate."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from freezing.common.kinds import kinds_of
from freezing.common.samples import Sample
from freezing.common.variants import LARGE_ELEMENTS, SIZED_LARGE, SIZED_ODD, Array, Call, Variant, is_contiguous
from runners.suite.frozen import PackSet, PackWriter, repeat_to
from runners.suite.rounding import dtype_on_device

Change = Callable[[Call, np.random.Generator], Call]
STEPS = (1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024)
"""By how much the copies along each axis are scaled: no two copies of an element are scaled by the same amount."""


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


def _longer(array: Array, axis: int, length: int) -> Array:
    """The array with each element along an axis repeated in its place, so that sorted numbers stay sorted."""
    longer: Array = np.take(array, np.arange(length) * array.shape[axis] // length, axis)
    return longer


def _with_more_rows(length: Callable[[int, Call], int]) -> Change:
    """More rows for the first array, and for those that have as many."""

    def change(call: Call, rng: np.random.Generator) -> Call:
        rows = _rows(call)
        return call.having({
            number: _longer(array, 0, length(rows, call))
            for number, array in enumerate(call.arrays)
            if array.ndim and len(array) == rows
        })  # fmt: skip

    return change


def _image(call: Call) -> int | None:
    """The number of the first array of the most axes, if its axes before the last can be longer."""
    if not call.arrays or not is_contiguous(call):
        return None
    number = max(range(len(call.arrays)), key=lambda place: (call.arrays[place].ndim, -place))
    return number if max(call.arrays[number].shape[:-1], default=0) > 1 else None


def _with_more_inside(length: Callable[[int, Call], int]) -> Change:
    """More elements for one array along all axes but the last, as channels and coordinates have a fixed length."""

    def change(call: Call, rng: np.random.Generator) -> Call:
        number = _image(call)
        assert number is not None
        array = call.arrays[number]
        shape = [length(size, call) if size > 1 else size for size in array.shape[:-1]]
        return call.having({number: repeat_to(array, (*shape, array.shape[-1]))})

    return change


def _distinct_copies(call: Call, rng: np.random.Generator) -> Call:
    """Longer along all axes; the copies of floats are scaled, as equal elements have no single largest one."""

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
    """So that two axes of the largest array make it large; at most so many rows as one axis needs."""
    largest = max(array.size for array in call.arrays)
    return size * (math.isqrt(LARGE_ELEMENTS // largest) + 1)


def _many(size: int, call: Call) -> int:
    return size * (LARGE_ELEMENTS // max(array.size for array in call.arrays) + 1)


def _repeated(length: Callable[[int, Call], int]) -> Change:
    """Longer along all axes."""

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


def _has_numbers(call: Call) -> bool:
    return set(call.written) == {"tuple"} and _with_odd_numbers(call.written) != call.written


def _with_odd_numbers(tree: Any) -> Any:
    """The written call with larger whole numbers, alone or in lists: sizes, windows and strides are odd then."""
    arguments, options = tree["tuple"]
    others = [[name, _odd_numbers(value)] for name, value in options["mapping"]]
    return {"tuple": [list(map(_odd_numbers, arguments)), {"mapping": others}]}


def _odd_numbers(value: Any) -> Any:
    if type(value) is int:
        return 2 * value + 1 if value > 1 else value
    if isinstance(value, list):
        return list(map(_odd_numbers, value))
    return {"tuple": _odd_numbers(value["tuple"])} if isinstance(value, dict) and set(value) == {"tuple"} else value


def _numbers_after(change: Change) -> Change:
    """The change of the arrays, and larger whole numbers among the other arguments."""

    def change_both(call: Call, rng: np.random.Generator) -> Call:
        return dataclasses.replace(change(call, rng), written=_with_odd_numbers(call.written))

    return change_both


NUMBERED: Sequence[Variant] = (
    Variant(
        "numbers-odd",
        SIZED_ODD,
        lambda call: _has_inside(call) and _has_numbers(call),
        _numbers_after(_with_more_inside(_odd)),
    ),
    Variant(
        "shapes-odd",
        SIZED_ODD,
        lambda call: is_contiguous(call) and _has_numbers(call),
        _numbers_after(_repeated(_odd)),
    ),
)
"""Larger arrays whose calls have larger numbers too, such as the size of a resized image, a window or a shape."""
SIZED: Sequence[Variant] = (
    Variant("copies-odd", SIZED_ODD, _has_plain_floats, _distinct_copies),
    Variant("inside-odd", SIZED_ODD, _has_inside, _with_more_inside(_odd)),
    Variant("rows-odd", SIZED_ODD, _has_rows, _with_more_rows(_odd)),
    Variant("inside-large", SIZED_LARGE, _has_inside, _with_more_inside(_large)),
    Variant("rows-large", SIZED_LARGE, _has_rows, _with_more_rows(_many)),
)
"""Other sizes for functions that refuse arrays of which every axis is longer, or leave their result open."""


def call_of(case: Mapping[str, Any], pack: PackSet) -> Call:
    arrays = tuple(pack.array(digest) for digest in case["arrays"])
    name = f"{case['function']}/{case['name']}"
    inputs = frozenset(range(len(arrays)))
    return Call(name, case["dtype"], frozenset(case["tags"]), arrays, json.loads(case["call"]), inputs)


def sample_of(case: Mapping[str, Any], new_call: Call, variant: Variant, pack: PackWriter) -> Sample:
    """The sample of a case's changed call, whose arrays are kept."""
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
