"""NumPy references of convolution and pooling, computed over explicit windows.

They follow the definition, for any number of spatial axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.suite.sequences import aligned

Array = np.ndarray[Any, Any]

PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def convolve(
    values: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] | str = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
) -> Array:
    """Compute the cross-correlation of ``(batch, channels, *space)`` or ``(channels, *space)`` with ``weight``."""
    axes = weight.ndim - 2
    if values.ndim == axes + 1:
        batch = convolve(
            values[np.newaxis],
            weight,
            bias,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            padding_mode=padding_mode,
        )
        return np.asarray(batch[0])
    kernel = weight.shape[2:]
    strides, dilations = _per_axis(stride, axes), _per_axis(dilation, axes)
    reach = [step * (size - 1) for step, size in aligned(dilations, kernel)]
    edges = _edges(padding, reach, axes)
    padded = np.pad(values, [(0, 0), (0, 0), *edges], mode=PADDING_MODES[padding_mode])  # type: ignore[call-overload]
    windows = np.lib.stride_tricks.sliding_window_view(
        padded, [size + 1 for size in reach], axis=tuple(range(2, 2 + axes))
    )
    steps = [1, 1, *strides, *dilations]
    picked = windows[tuple(slice(None, None, step) for step in steps)]
    contracted = [1, *range(2 + axes, 2 + 2 * axes)]
    parts = [
        np.tensordot(of_values, of_weight, axes=(contracted, list(range(1, 2 + axes))))
        for of_values, of_weight in aligned(np.split(picked, groups, axis=1), np.split(weight, groups, axis=0))
    ]
    result = np.moveaxis(np.concatenate(parts, axis=-1), -1, 1)
    return result if bias is None else result + bias.reshape(1, -1, *(1,) * axes)


def _per_axis(value: int | tuple[int, ...], axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else tuple(value)


def _edges(padding: int | tuple[int, ...] | str, reach: list[int], axes: int) -> list[tuple[int, int]]:
    if padding == "same":
        return [(size // 2, size - size // 2) for size in reach]
    if isinstance(padding, str):
        return [(0, 0)] * axes
    return [(size, size) for size in _per_axis(padding, axes)]


def adaptive_averages(values: Array, sizes: int | tuple[int | None, ...], axes: int) -> Array:
    """Compute averages over the windows from floor(i·n/m) to ceil((i+1)·n/m) on each of the last ``axes`` axes."""
    wanted = (sizes,) * axes if isinstance(sizes, int) else tuple(sizes)
    # Each window is a product of intervals, so averaging axis by axis averages over the window.
    for axis, size in aligned(range(-axes, 0), wanted):
        length = values.shape[axis]
        count = length if size is None else size
        boxes = [range(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
        averages = [np.take(values, box, axis=axis).mean(axis=axis) for box in boxes]
        values = np.stack(averages, axis=axis)
    return values


def with_edges(values: Array) -> Array:
    """Put a NaN and an infinity into the array, far from each other."""
    flat = values.reshape(-1)
    flat[len(flat) // 4], flat[-len(flat) // 4] = np.nan, np.inf
    return values
