"""A frozen call on torch: its arguments made from the case's arrays, on the device that the case is forced to."""

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
"""By function: the places of arrays that its documentation wants on the host, whatever the device."""
WAY = "way"
"""The key of a written call that says what is done with the function, where that is not the call itself."""


@dataclass(frozen=True)
class FrozenCall:
    """Prepares a call: ``written`` is its parts, the first two its positional arguments and its options."""

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
        """The arguments of the way beside the function, with torch's own arrays in their places."""
        return self.filled(lambda slot: laid_out(arrays[slot.number], slot.dtype, slot.strides, slot.offset), device)

    def filled(self, array: Callable[[Slot], Any], device: Any) -> Any:
        """The written parts with the array of each slot."""
        return decode(json.loads(self.written), array, lambda value: resolved(value, device))


@dataclass(frozen=True)
class CallOnViews(FrozenCall):
    """Prepares a call of which arrays start inside buffers, and takes these views within the call.

    A device that computes late sees a view only then. Taken and computed before, it would be an array like any other.
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
    """The preparation of a written call."""
    return CallOnViews(written) if '"offset":' in written else FrozenCall(written)


def resolved(value: Named, device: Any) -> Any:
    """The object of torch's behind a name: a dtype, a layout, a memory format; or the device itself."""
    import torch

    if value.kind == "device":
        return device
    if value.kind == "size":
        return torch.Size(json.loads(value.name))
    return getattr(torch, value.name)
