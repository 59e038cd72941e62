"""A frozen call on torch: its arguments made from the case's arrays, on the device that the case is forced to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runners.suite.cases import Context
from runners.suite.frozen import Named, decode
from runners.torch.layouts import laid_out
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
        arguments, *others = self.parts(arrays, context.device)
        for place in ON_HOST.get(getattr(context.function, "__name__", ""), ()):
            if len(arguments) > place and hasattr(arguments[place], "cpu"):
                arguments[place] = arguments[place].cpu()
        return context.compiled(self.way(context.function, arguments, *others))

    @property
    def way(self) -> Way:
        """The way in which the function is called."""
        return WAYS[json.loads(self.written).get(WAY, "call")]

    def parts(self, arrays: Sequence[Any], device: Any) -> Any:
        """The arguments of the way beside the function, with torch's own arrays in their places."""
        return decode(
            json.loads(self.written),
            lambda slot: laid_out(arrays[slot.number], slot.dtype, slot.strides, slot.offset),
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
