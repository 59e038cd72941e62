"""Variants whose arrays are views: parts of a larger buffer, or arrays whose elements share memory."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

import torch
from freezing.common.agreement import Reference
from freezing.common.gate import Arguments, GatedFunction
from freezing.common.variants import (
    OFFSET,
    OVERLAPPING,
    OVERLAPPING_WRITE,
    SECOND_ORDER,
    Array,
    Call,
    Variant,
    is_contiguous,
    slots,
)
from freezing.torch.operators import OperatorFunction
from freezing.torch.subjects import called_by
from protocol.enums import GRADIENT, REFUSES
from runners.suite.checks import Tolerance
from runners.torch import ways
from runners.torch.frozen import WAY

ROWS_BEFORE = 3
IN_PLACE = "changes-inputs"
THROUGH_VIEW = "through_view"
"""The way to call an in-place method on a view."""


class ThroughView(GatedFunction):
    """An in-place method that is called on a view. It returns the result, and the buffer that contains the view."""

    def __init__(self, function: OperatorFunction) -> None:
        call = called_by(ways.through_view, function.call)
        super().__init__(function.name, lambda *arguments, **options: call(arguments, options), function.device)
        self._function = function
        self.in_place = True

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return self._function.arguments(call, arrays)

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        for kind, reference in self._function.references(dtype, fresh):
            yield kind, lambda reference=reference: _with_buffer(reference(), fresh()[0][0])  # type: ignore[misc]

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        return self._function.tolerance(dtype, result)

    def other_processors(self) -> Sequence[AbstractContextManager[None]]:
        return self._function.other_processors()


def _with_buffer(results: list[Any], view: Any) -> list[Any]:
    """Return the result of a reference, followed by the view's buffer with this result in it."""
    (result,) = results
    buffer = view._base.clone()
    own = buffer.as_strided(view.shape, view.stride(), view.storage_offset())
    own.copy_(torch.from_numpy(np.ascontiguousarray(result)).reshape(view.shape))
    return [result, buffer.double().numpy() if buffer.is_floating_point() else buffer.numpy()]


def through_views(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Change the cases of an in-place method into cases in the way of ``ThroughView``.

    Use this only for in-place methods. Other functions may also change an argument (such as the statistics of a
    normalization), but return another array than the changed one.
    """
    return [case | {"call": json.dumps({**json.loads(case["call"]), WAY: THROUGH_VIEW})} for case in cases]


def _with_slots(call: Call, change: Callable[[dict[str, Any]], None]) -> Call:
    tree = json.loads(json.dumps(call.written))
    for slot in slots(tree):
        if slot["array"] in call.inputs:
            change(slot)
    return dataclasses.replace(call, written=tree)


def _offset(call: Call, rng: np.random.Generator) -> Call:
    def change(slot: dict[str, Any]) -> None:
        if call.arrays[slot["array"]].size:
            slot["offset"] = ROWS_BEFORE

    return _with_slots(call, change)


def overlap(array: Array) -> tuple[Array, list[int]]:
    """Return an array of the same shape whose elements share memory, and its strides.

    With several long axes, it is a window that moves by one element. With one long axis, all elements are the same one.
    """
    long = [axis for axis, size in enumerate(array.shape) if size > 1]
    stride = 1 if len(long) > 1 else 0
    strides = [stride if axis in long else 1 for axis in range(array.ndim)]
    places = sum((stride * np.arange(array.shape[axis])).reshape(-1, *[1] * (array.ndim - axis - 1)) for axis in long)
    return array.reshape(-1)[np.broadcast_to(places, array.shape)], strides


def _overlapping(call: Call, rng: np.random.Generator) -> Call:
    windows = {number: overlap(call.arrays[number]) for number in sorted(call.inputs) if _is_long(call, number)}

    def change(slot: dict[str, Any]) -> None:
        if slot["array"] in windows:
            slot["strides"] = windows[slot["array"]][1]

    return _with_slots(call.having({number: array for number, (array, _) in windows.items()}), change)


def _is_long(call: Call, number: int) -> bool:
    return call.arrays[number].size > 1


def _first_overlaps(call: Call, rng: np.random.Generator) -> Call:
    first = call.written["tuple"][0][0]["array"]
    return _overlapping(dataclasses.replace(call, inputs=frozenset({first})), rng)


def _can_be_offset(call: Call) -> bool:
    return is_contiguous(call) and any(call.arrays[number].size for number in call.inputs)


def _can_overlap(call: Call) -> bool:
    return is_contiguous(call) and IN_PLACE not in call.tags and any(_is_long(call, number) for number in call.inputs)


def _can_be_written(call: Call) -> bool:
    """Whether the call changes its first argument in place, and this is an array whose elements can overlap."""
    arguments = call.written["tuple"][0]
    first = arguments[0] if arguments else None
    if not isinstance(first, dict) or "array" not in first:
        return False
    return IN_PLACE in call.tags and is_contiguous(call) and _is_long(call, first["array"])


def _second_order(call: Call, rng: np.random.Generator) -> Call:
    return dataclasses.replace(call, written={**call.written, WAY: "second_order"})


OF_TORCH: Sequence[Variant] = (
    Variant(OVERLAPPING_WRITE, REFUSES, _can_be_written, _first_overlaps),
    Variant(OFFSET, OFFSET, _can_be_offset, _offset),
    Variant(OVERLAPPING, OVERLAPPING, _can_overlap, _overlapping),
    Variant(SECOND_ORDER, SECOND_ORDER, lambda call: GRADIENT in call.tags, _second_order),
)
"""The variants that only torch has. A refused write is drawn before other refusals."""
