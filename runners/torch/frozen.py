"""A frozen call on torch: its arguments made from the case's arrays, on the device that the case is forced to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runners.suite.cases import Context
from runners.suite.frozen import Named, Slot, decode
from runners.torch.ways import WAYS, Way

WAY = "way"
"""The key of a written call that says what is done with the function, where that is not the call itself."""


@dataclass(frozen=True)
class FrozenCall:
    """Prepares a call: ``written`` is its parts, the first two its positional arguments and its options."""

    written: str

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        return context.compiled(self.way(context.function, *self.parts(arrays, context.device)))

    @property
    def way(self) -> Way:
        """The way in which the function is called."""
        return WAYS[json.loads(self.written).get(WAY, "call")]

    def parts(self, arrays: Sequence[Any], device: Any) -> Any:
        """The arguments of the way beside the function, with torch's own arrays in their places."""
        return decode(
            json.loads(self.written),
            lambda slot: laid_out(arrays[slot.number], slot),
            lambda value: resolved(value, device),
        )


def resolved(value: Named, device: Any) -> Any:
    """The object of torch's behind a name: a dtype, a layout, a memory format; or the device itself."""
    import torch

    if value.kind == "device":
        return device
    if value.kind == "size":
        return torch.Size(json.loads(value.name))
    return getattr(torch, value.name)


def laid_out(array: Any, slot: Slot) -> Any:
    """The array in the dtype and with the strides of its slot."""
    import torch

    if slot.dtype is not None:
        array = array.to(getattr(torch, slot.dtype))
    return array if slot.strides is None else strided(array, slot.strides)


def strided(array: Any, strides: Sequence[int]) -> Any:
    """The same values with other strides: in a wider buffer, and expanded where a stride is 0."""
    import torch

    once = tuple(slice(0, 1) if stride == 0 and size else slice(None) for stride, size in zip(strides, array.shape))
    part = array[once] if once else array
    extent = 1 + sum((size - 1) * stride for size, stride in zip(part.shape, strides) if size)
    buffer = torch.zeros(extent if part.numel() else 0, dtype=array.dtype, device=array.device)
    view = buffer.as_strided(part.shape, tuple(strides))
    view.copy_(part)
    return view.expand(array.shape)
