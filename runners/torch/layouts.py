"""Gives an array its memory layout (dtype and strides) on the host, and then moves it to the device. So the device
needs no operation except the move, and a failure comes from the function that is called with the array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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


def take_view(array: Any, dtype: str | None, strides: Sequence[int] | None) -> Any:
    """Return the array in another dtype and with other strides, as a view that a program takes. None keeps a property
    unchanged.

    A move keeps the order of axes. A view with gaps, or with repeated elements, is taken on the device from a whole
    buffer, with slices, indices, a permutation and an expansion. ``as_strided`` is used only for the strides that these
    steps cannot make, because few programs use it: on some devices it falls back, also when the view is written later.
    """
    steps = None if strides is None else ViewSteps.of(array.shape, strides)
    if strides is None or steps is None:
        return laid_out(array, dtype, strides)
    import torch

    values = array.cpu() if dtype is None else array.cpu().to(getattr(torch, dtype))
    # Drawn values may differ between elements that share memory. So every device gets the values of this view.
    view = strided(values, strides)
    view_there = view.to(array.device)
    if view_there.stride() == tuple(strides):
        return view_there
    try:
        return steps.take(steps.buffer(view).to(array.device))
    except RuntimeError:
        return view_there


@dataclass(frozen=True)
class ViewSteps:
    """The steps that turn a contiguous buffer into a view."""

    buffer_shape: tuple[int, ...]
    index: tuple[slice | int, ...]
    """The slices of the axes of the buffer, and 0 for a last axis of which the view has one element."""
    order: tuple[int, ...]
    """For each axis of the view that is also an axis of the buffer: its position among the slices."""
    added_axes: tuple[int, ...]
    """The axes of the view that the buffer does not have: those with the stride 0, and often those with one element."""
    shape: tuple[int, ...]

    @classmethod
    def of(cls, shape: Sequence[int], strides: Sequence[int]) -> ViewSteps | None:
        """Find the steps for a view; None if the view is empty, or if slices cannot take it.

        An axis with one element may have any stride. If its stride does not fit the others, the axis is added.
        """
        if 0 in shape:
            return None
        of_buffer = [axis for axis in range(len(shape)) if strides[axis]]
        long_axes = [axis for axis in of_buffer if shape[axis] > 1]
        return cls._with(of_buffer, shape, strides) or cls._with(long_axes, shape, strides)

    @classmethod
    def _with(cls, of_buffer: Sequence[int], shape: Sequence[int], strides: Sequence[int]) -> ViewSteps | None:
        """Find the steps for a view if the buffer has these axes of the view.

        The strides of the buffer's axes divide each other. So each is the greatest common divisor of the view's strides
        down to that axis, and the rest of a stride is the step of a slice.
        """
        # If axes have equal strides, all but the first have one element, or elements overlap.
        axes = sorted(of_buffer, key=lambda axis: (-strides[axis], -shape[axis]))
        buffer_shape: list[int] = []
        index: list[slice | int] = []
        unit = 0
        for axis in axes:
            last_unit, unit = unit, math.gcd(unit, strides[axis])
            step = strides[axis] // unit
            end = (shape[axis] - 1) * step + 1
            size = last_unit // unit if buffer_shape else end
            if end > size:
                return None
            buffer_shape.append(size)
            index.append(slice(None) if end == size and step == 1 else slice(0, end, step))
        if unit > 1:
            buffer_shape.append(unit)
            index.append(0)
        order = tuple(map(axes.index, of_buffer))
        added_axes = tuple(axis for axis in range(len(shape)) if axis not in of_buffer)
        return cls(tuple(buffer_shape), tuple(index), order, added_axes, tuple(shape))

    def buffer(self, array: Any) -> Any:
        """Return a buffer on the host in which this view has the values of the array."""
        import torch

        buffer = torch.zeros(self.buffer_shape, dtype=array.dtype)
        first = tuple(0 if axis in self.added_axes else slice(None) for axis in range(array.ndim))
        buffer[self.index].permute(self.order).copy_(array[first])
        return buffer

    def take(self, buffer: Any) -> Any:
        """Take the view from a buffer, on the buffer's device."""
        view = buffer[self.index].permute(self.order)
        for axis in self.added_axes:
            view = view.unsqueeze(axis)
        return view.expand(self.shape) if self.added_axes else view


def strided(array: Any, strides: Sequence[int]) -> Any:
    """Return the same values with other strides, in a larger buffer. Elements that share memory must be equal."""
    import torch

    places = torch.zeros((), dtype=torch.int64)
    for axis, (size, stride) in enumerate(zip(array.shape, strides)):
        places = places + (stride * torch.arange(size)).reshape(-1, *[1] * (array.ndim - axis - 1))
    buffer = torch.zeros(1 + int(places.max()) if places.numel() else 0, dtype=array.dtype)
    buffer[places.expand(array.shape).reshape(-1)] = array.reshape(-1)
    return buffer.as_strided(array.shape, tuple(strides))
