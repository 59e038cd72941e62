"""Variants with large arrays, for functions that the common ones (``sized-large``, ``sized-rows``) do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from freezing.common.variants import LARGE_ELEMENTS, SIZED_LARGE, SIZED_ROWS, Array, Call, Variant, is_contiguous, slots

LONG = 1_009
"""The length of the axis that is put in order. The numbers along it are distinct, and all rows are the same, so that a
pack stores one of them."""
STEP = 0.25
"""The difference between two neighbours in order. It is exact in float32."""
_DIM_PLACES: Mapping[str, int] = {"sort": 1, "argsort": 1, "cummax": 1, "cummin": 1, "topk": 2, "kthvalue": 2}
"""The functions that return indices of elements in order, and the position of ``dim`` among their arguments."""
IN_STEPS = ("RNN", "GRU", "LSTM")
"""The modules for which each row of an input without a batch is a step."""
_OF_ONE_STEP = tuple(f"{name}Cell" for name in IN_STEPS)
_ATTENTION = ("MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer")
"""The modules whose inputs without a batch are sequences. The cost grows with the square of their length."""


def has_own_variants(name: str) -> bool:
    """Whether a function has no other large arrays than those of this module. In longer inputs, elements to order would
    be equal, a module would make so many steps that a compiler that unrolls them does not end, and attention would take
    too long."""
    return name.rpartition(".")[2] in (*_DIM_PLACES, *IN_STEPS, *_ATTENTION)


def _last_name(call: Call) -> str:
    return call.name.partition("/")[0].rpartition(".")[2]


def _can_be_distinct(call: Call) -> bool:
    return (
        _last_name(call) in _DIM_PLACES
        and "way" not in call.written
        and call.dtype == "float32"
        and is_contiguous(call)
        and len(call.arrays) == 1
        and call.arrays[0].ndim > 1
    )


def _distinct(call: Call, rng: np.random.Generator) -> Call:
    """Make a large array of distinct numbers along the axis that the function puts in order."""
    (array,) = call.arrays
    axis = _axis(call) % array.ndim
    others = [place for place in range(array.ndim) if place != axis]
    shape = [2] * array.ndim
    shape[axis] = LONG
    shape[others[0]] = LARGE_ELEMENTS // (LONG * 2 ** (len(others) - 1)) + 1
    row = (rng.permutation(LONG) * STEP - LONG * STEP / 2).astype(array.dtype)
    rows = np.broadcast_to(row.reshape(-1, *[1] * (array.ndim - axis - 1)), shape)
    return call.having({0: rows.copy()})


def _axis(call: Call) -> int:
    arguments, options = call.written["tuple"][:2]
    place = _DIM_PLACES[_last_name(call)]
    by_name = dict(options["mapping"])
    return int(by_name["dim"] if "dim" in by_name else arguments[place] if len(arguments) > place else -1)


def _has_no_batch(call: Call) -> bool:
    """Whether it is the forward pass of such a module, with inputs that have no batch axis, and without masks."""
    name = _last_name(call)
    if name not in (*IN_STEPS, *_OF_ONE_STEP, *_ATTENTION) or call.written.get("way") != "forward":
        return False
    axes = 1 if name in _OF_ONE_STEP else 2
    has_mask = any(True for _ in slots(call.written["tuple"][3]["tuple"][1]))
    return not has_mask and is_contiguous(call) and all(call.arrays[number].ndim == axes for number in call.inputs)


def _with_batch(call: Call, rng: np.random.Generator) -> Call:
    """Add a batch axis to each input, and repeat the input along it."""
    numbers = [slot["array"] for slot in slots(call.written["tuple"][3])]
    rows = LARGE_ELEMENTS // call.arrays[numbers[0]].size + 1
    name = _last_name(call)
    axis = 0 if name in _OF_ONE_STEP or dict(_options(call)).get("batch_first") is True else 1
    # The hidden state of several steps has the batch after the layers, whatever ``batch_first`` says.
    other_axis = 1 if name in IN_STEPS else axis
    axes = [axis, *[other_axis] * (len(numbers) - 1)]
    return call.having(
        {number: _repeat(call.arrays[number], rows, one) for number, one in zip(numbers, axes, strict=True)}
    )


def _repeat(array: Array, rows: int, axis: int) -> Array:
    return np.repeat(np.expand_dims(array, axis), rows, axis)


def _options(call: Call) -> Sequence[Any]:
    options: Sequence[Any] = call.written["tuple"][1]["mapping"]
    return options


LARGE_OF_TORCH: Sequence[Variant] = (
    Variant("sized-distinct", SIZED_LARGE, _can_be_distinct, _distinct),
    Variant("sized-batch", SIZED_ROWS, _has_no_batch, _with_batch),
)
