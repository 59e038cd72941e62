"""The layout of an array in memory: dtype and strides, made on the host and moved to the device.

So that no operation of the device is needed for it but the move: what a device lacks besides is not the fault of the
function that is called with the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def laid_out(array: Any, dtype: str | None, strides: Sequence[int] | None, offset: int | None = None) -> Any:
    """The array in another dtype, with other strides, or as a view that starts inside a buffer; None: as it is.

    Strides are in elements, the offset in rows. An array has one of them at most.
    """
    import torch

    if dtype is None and strides is None and offset is None:
        return array
    made = array.cpu() if dtype is None else array.cpu().to(getattr(torch, dtype))
    if offset is not None:
        return within(made, offset, array.device)
    if strides is None:
        return made.to(array.device)
    return moved(strided(made, strides), array.device)


def within(array: Any, offset: int, device: Any) -> Any:
    """A view on the device of a buffer there that has this many other rows before it, and after it.

    The view is taken on the device, because no move keeps the place in a buffer.
    """
    return part_of(buffer_around(array, offset).to(device), offset, array.ndim)


def buffer_around(array: Any, offset: int) -> Any:
    """A buffer on the array's device with its rows along the first axis, and as many others before as after them.

    These are the array's own rows in another order, so that their values are valid wherever its own are.
    """
    import torch

    rows = array.reshape(1) if array.ndim == 0 else array
    around = torch.cat([rows.flip(0)] * (1 + offset // len(rows)))[:offset]
    return torch.cat([around, rows, around])


def part_of(buffer: Any, offset: int, ndim: int) -> Any:
    """The view of the array in its buffer, as a program takes it: rows by a slice, or one number by an index."""
    return buffer[offset : len(buffer) - offset] if ndim else buffer[offset]


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
    """The same values with other strides, in a wider buffer; those that share memory must be equal."""
    import torch

    places = torch.zeros((), dtype=torch.int64)
    for axis, (size, stride) in enumerate(zip(array.shape, strides)):
        places = places + (stride * torch.arange(size)).reshape(-1, *[1] * (array.ndim - axis - 1))
    buffer = torch.zeros(1 + int(places.max()) if places.numel() else 0, dtype=array.dtype)
    buffer[places.expand(array.shape).reshape(-1)] = array.reshape(-1)
    return buffer.as_strided(array.shape, tuple(strides))
