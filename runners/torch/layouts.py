"""Gives an array its memory layout (dtype and strides) on the host, and then moves it to the device. So the device
needs no operation except the move, and a failure comes from the function that is called with the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def laid_out(array: Any, dtype: str | None, strides: Sequence[int] | None, offset: int | None = None) -> Any:
    """Return the array in another dtype, with other strides, or as a view that begins inside a buffer. None keeps a
    property unchanged. Strides are in elements, the offset is in rows, and at most one of strides and offset is
    given."""
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
    """Return a view on the device of a buffer that has this many additional rows before it and after it.

    The view is created on the device, because a move does not keep the position in a buffer.
    """
    return part_of(buffer_around(array, offset).to(device), offset, array.ndim)


def buffer_around(array: Any, offset: int) -> Any:
    """Return a buffer on the array's device. It has the array's rows along the first axis, and ``offset`` other rows
    before and after them.

    The other rows are the array's rows in another order, so their values are valid wherever the array's values are.
    """
    import torch

    rows = array.reshape(1) if array.ndim == 0 else array
    around = torch.cat([rows.flip(0)] * (1 + offset // len(rows)))[:offset]
    return torch.cat([around, rows, around])


def part_of(buffer: Any, offset: int, ndim: int) -> Any:
    """Return the view of the array in its buffer as a program creates it: a slice of rows, or one number by its
    index."""
    return buffer[offset : len(buffer) - offset] if ndim else buffer[offset]


def moved(view: Any, device: Any) -> Any:
    """Move a view on the host to the device with its strides.

    A move keeps the order of axes. For a view with gaps, or with repeated elements, the whole buffer is moved, and the
    view is created there with the same strides. If the device does not support such views, it gets the values without
    gaps.
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
    """Return the same values with other strides, in a larger buffer. Elements that share memory must be equal."""
    import torch

    places = torch.zeros((), dtype=torch.int64)
    for axis, (size, stride) in enumerate(zip(array.shape, strides)):
        places = places + (stride * torch.arange(size)).reshape(-1, *[1] * (array.ndim - axis - 1))
    buffer = torch.zeros(1 + int(places.max()) if places.numel() else 0, dtype=array.dtype)
    buffer[places.expand(array.shape).reshape(-1)] = array.reshape(-1)
    return buffer.as_strided(array.shape, tuple(strides))
