"""Other integers in a call, such as the size of a resized image, a window or a shape. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from freezing.common.variants import SIZED_ODD, Call, Variant, is_contiguous, resize

Change = Callable[[Call, np.random.Generator], Call]


def has_numbers(call: Call) -> bool:
    """Whether a plain call has an integer above 1 among its arguments."""
    return set(call.written) == {"tuple"} and _with_odd_numbers(call.written) != call.written


def _with_odd_numbers(tree: Any) -> Any:
    """Replace the integers of the written call by larger odd ones, also in lists. These are sizes, windows and
    strides."""
    arguments, options = tree["tuple"]
    others = [[name, _odd_numbers(value)] for name, value in options["mapping"]]
    return {"tuple": [list(map(_odd_numbers, arguments)), {"mapping": others}]}


def _odd_numbers(value: Any) -> Any:
    if type(value) is int:
        return 2 * value + 1 if value > 1 else value
    if isinstance(value, list):
        return list(map(_odd_numbers, value))
    return {"tuple": _odd_numbers(value["tuple"])} if isinstance(value, dict) and set(value) == {"tuple"} else value


def numbers_after(change: Change) -> Change:
    """Change the arrays, and replace the integers among the other arguments by larger ones."""

    def change_both(call: Call, rng: np.random.Generator) -> Call:
        return dataclasses.replace(change(call, rng), written=_with_odd_numbers(call.written))

    return change_both


def _same_arrays(call: Call, rng: np.random.Generator) -> Call:
    return call


def _all_axes(call: Call, rng: np.random.Generator) -> Call:
    return call.having({number: resize(array, lambda size: 2 * size + 1) for number, array in enumerate(call.arrays)})


NUMBER_VARIANTS: Sequence[Variant] = (
    Variant("numbers-odd", SIZED_ODD, has_numbers, numbers_after(_same_arrays)),
    Variant(
        "shapes-odd",
        SIZED_ODD,
        lambda call: bool(call.arrays) and is_contiguous(call) and has_numbers(call),
        numbers_after(_all_axes),
    ),
)
"""Variants with larger integers in the call, and with these and longer arrays."""
