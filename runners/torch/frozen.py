"""Frozen calls of torch: their arguments are made from the case's arrays, on the device that the case is forced
onto."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runners.suite.cases import Context
from runners.suite.frozen import Named, Slot, decode
from runners.torch.layouts import buffer_around, laid_out, part_of
from runners.torch.ways import WAYS, Way

ON_HOST = {"tensor_split": (1,)}
"""For each function, the positions of the arrays that, according to the documentation, must be on the host for any
device."""
WAY = "way"
"""The key in a stored call for the way in which the function is used, if it is not simply called."""


@dataclass(frozen=True)
class FrozenCall:
    """Prepares a stored call. The first two parts of ``written`` are its positional arguments and its keyword
    arguments."""

    written: str

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        return context.compiled(self.call_of(context.function, *self.parts(arrays, context.device)))

    def call_of(self, function: Any, arguments: Any, *others: Any) -> Callable[[], Any]:
        """The call of the function with these parts."""
        for place in ON_HOST.get(getattr(function, "__name__", ""), ()):
            if len(arguments) > place and hasattr(arguments[place], "cpu"):
                arguments[place] = arguments[place].cpu()
        return self.way(function, arguments, *others)

    @property
    def way(self) -> Way:
        """The way in which the function is called."""
        return WAYS[json.loads(self.written).get(WAY, "call")]

    def parts(self, arrays: Sequence[Any], device: Any) -> Any:
        """The arguments of the way, except the function, with torch arrays in place of slots."""
        return self.filled(lambda slot: laid_out(arrays[slot.number], slot.dtype, slot.strides, slot.offset), device)

    def filled(self, array: Callable[[Slot], Any], device: Any) -> Any:
        """The stored parts with the array of each slot inserted."""
        return decode(json.loads(self.written), array, lambda value: resolved(value, device))


@dataclass(frozen=True)
class CallOnViews(FrozenCall):
    """Prepares a call with arrays that begin inside buffers, and takes these views during the call.

    A lazy device sees a view only if the view is taken during the call. If it were taken and computed earlier, it would
    be an ordinary array.
    """

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        moved_arrays: list[Any] = []

        def move(slot: Slot) -> None:
            array = laid_out(arrays[slot.number], slot.dtype, slot.strides)
            if slot.offset is not None:
                array = buffer_around(array.cpu(), slot.offset).to(array.device)
            moved_arrays.append(array)

        def take(array: Any, slot: Slot) -> Any:
            return array if slot.offset is None else part_of(array, slot.offset, arrays[slot.number].ndim)

        self.filled(move, context.device)

        def call() -> Any:
            own = iter(moved_arrays)
            with context.surroundings():
                parts = self.filled(lambda slot: take(next(own), slot), context.device)
                prepared_call = self.call_of(context.function, *parts)
            return prepared_call()

        return context.compiled(call)


def frozen_call(written: str) -> FrozenCall:
    """The prepared form of a stored call."""
    return CallOnViews(written) if '"offset":' in written else FrozenCall(written)


def resolved(value: Named, device: Any) -> Any:
    """The torch object for a name: a dtype, a layout, a memory format, or the device itself."""
    import torch

    if value.kind == "device":
        return device
    if value.kind == "size":
        return torch.Size(json.loads(value.name))
    return getattr(torch, value.name)
