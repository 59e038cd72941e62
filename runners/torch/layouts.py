"""The layout of an array in memory: dtype and strides, made on the host and moved to the device.

So that no operation of the device is needed for it but the move: what a device lacks besides is not the fault of the
function that is called with the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def laid_out(array: Any, dtype: str | None, strides: Sequence[int] | None) -> Any:
    """The array in another dtype and with other strides, in elements; None: as it is."""
    import torch

    if dtype is None and strides is None:
        return array
    made = array.cpu() if dtype is None else array.cpu().to(getattr(torch, dtype))
    if strides is None:
        return made.to(array.device)
    return moved(strided(made, strides), array.device)


def moved(view: Any, device: Any) -> Any:
    """A view of the host's on the device, with its strides.

    A move keeps the order of axes. Of a view with gaps, or of one element for many, the whole buffer is moved, and is
    seen through the same strides there. A device that has no such views gets the values without gaps.
    """
    arrived = view.to(device)
    if arrived.stride() == view.stride():
        return arrived
    buffer = view._base if view._base is not None else view
    try:
        return buffer.to(device).as_strided(view.shape, view.stride())
    except RuntimeError:
        return arrived


def strided(array: Any, strides: Sequence[int]) -> Any:
    """The same values with other strides: in a wider buffer, and expanded where a stride is 0."""
    import torch

    once = tuple(slice(0, 1) if stride == 0 and size else slice(None) for stride, size in zip(strides, array.shape))
    part = array[once] if once else array
    extent = 1 + sum((size - 1) * stride for size, stride in zip(part.shape, strides) if size)
    buffer = torch.zeros(extent if part.numel() else 0, dtype=array.dtype)
    view = buffer.as_strided(part.shape, tuple(strides))
    view.copy_(part)
    return view.expand(array.shape)
