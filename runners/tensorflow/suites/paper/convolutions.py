"""Cases of convolutions: ``tf.nn.conv3d``, ``tf.nn.conv2d_transpose``.

The references iterate over the positions of the kernel, for any number of axes. At each position, a strided slice of
the padded input is multiplied by one matrix of the kernel. Channels are the last axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Function, Inputs
from runners.suite.checks import Tolerance
from runners.suite.sequences import aligned
from runners.tensorflow.suites.paper.calls import gradient, in_graph, of_unknown_shapes, refused, refusing, traced

Array = np.ndarray[Any, Any]
SUMMED = Tolerance(1e-4, 1e-4)
"""The tolerance of float32 sums of some hundred products, which a kernel may add in any order."""
SUMMED_IN_HALF = Tolerance(4e-3, 4e-3)
SUMMED_IN_BFLOAT16 = Tolerance(8e-3, 8e-3)
TOLERANCES = {"float64": None, "float32": SUMMED, "float16": SUMMED_IN_HALF, "bfloat16": SUMMED_IN_BFLOAT16}


@dataclass(frozen=True)
class Geometry:
    """The positions of a kernel on an input, for each axis."""

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: str

    @property
    def spans(self) -> list[int]:
        return [(count - 1) * by + 1 for count, by in aligned(self.kernel, self.dilations)]

    @property
    def out(self) -> list[int]:
        sizes = aligned(self.size, self.spans, self.strides)
        if self.padding == "SAME":
            return [math.ceil(size / stride) for size, _, stride in sizes]
        return [math.ceil((size - span + 1) / stride) for size, span, stride in sizes]

    @property
    def padded(self) -> list[tuple[int, int]]:
        """The padding at both ends of each axis. If SAME needs an odd number, the end gets one more."""
        if self.padding == "VALID":
            return [(0, 0)] * len(self.size)
        axes = aligned(self.size, self.out, self.strides, self.spans)
        added = [max(0, (out - 1) * stride + span - size) for size, out, stride, span in axes]
        return [(total // 2, total - total // 2) for total in added]

    def slices(self) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
        """Yield each position of the kernel, and the part of the padded input by which it is multiplied."""
        for place in np.ndindex(*self.kernel):
            axes = aligned(place, self.dilations, self.strides, self.out)
            yield place, (slice(None), *(slice(at * by, at * by + stride * n, stride) for at, by, stride, n in axes))

    def pad(self, x: Array) -> Array:
        # After the last window, the input may have fewer elements than the stride.
        return np.pad(x, [(0, 0), *((low, high + max(self.strides)) for low, high in self.padded), (0, 0)])


def correlated(x: Array, kernel: Array, geometry: Geometry) -> Array:
    wide = geometry.pad(x)
    return sum((wide[part] @ kernel[place] for place, part in geometry.slices()), np.zeros(()))


def spread(upstream: Array, kernel: Array, geometry: Geometry) -> Array:
    """Compute the transpose of ``correlated`` with respect to its input."""
    shape = (upstream.shape[0], *geometry.size, kernel.shape[-2])
    wide = geometry.pad(np.zeros(shape))
    for place, part in geometry.slices():
        wide[part] += upstream @ kernel[place].T
    inner = (slice(low, low + size) for (low, _), size in aligned(geometry.padded, geometry.size))
    return wide[(slice(None), *inner)]


def of_kernel(x: Array, upstream: Array, kernel: Array, geometry: Geometry) -> Array:
    """Compute the transpose of ``correlated`` with respect to its kernel."""
    wide, result = geometry.pad(x), np.zeros(kernel.shape)
    channels = tuple(range(x.ndim - 1))
    for place, part in geometry.slices():
        result[place] = np.tensordot(wide[part], upstream, (channels, channels))
    return result


def laid(x: Array, kernel: Array, strides: Sequence[int], padding: str, dilations: Sequence[int] | None) -> Geometry:
    ones = (1,) * (x.ndim - 2)
    return Geometry(
        x.shape[1:-1], kernel.shape[:-2], tuple(strides[1:-1]), tuple(dilations[1:-1]) if dilations else ones, padding
    )


def convolved(
    x: Array,
    kernel: Array,
    *,
    strides: Sequence[int],
    padding: str,
    dilations: Sequence[int] | None = None,
    data_format: str = "NDHWC",
) -> Array:
    if data_format == "NCDHW":
        last = channels_last(x), kernel, channel_last(strides), padding, dilations and channel_last(dilations)
        return channels_first(correlated(*last[:2], laid(*last)))
    return correlated(x, kernel, laid(x, kernel, strides, padding, dilations))


def channels_last(x: Array) -> Array:
    return np.moveaxis(x, 1, -1)


def channels_first(x: Array) -> Array:
    return np.moveaxis(x, -1, 1)


def channel_last(numbers: Sequence[int]) -> tuple[int, ...]:
    """Reorder one number per axis, so that the number of the channels is last."""
    batch, channels, *space = numbers
    return (batch, *space, channels)


def convolved_backward(
    x: Array,
    kernel: Array,
    upstream: Array,
    *,
    strides: Sequence[int],
    padding: str,
    dilations: Sequence[int] | None = None,
) -> Any:
    geometry = laid(x, kernel, strides, padding, dilations)
    return [
        correlated(x, kernel, geometry),
        spread(upstream, kernel, geometry),
        of_kernel(x, upstream, kernel, geometry),
    ]


conv3d = Function("tf.nn.conv3d", convolved)


def volume(
    name: str,
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    *,
    by: tuple[int, int, int] = (1, 1, 1),
    padding: str = "SAME",
    dtype: str = "float32",
    **options: Any,
) -> None:
    """Add a case with an input of ``shape`` and a kernel. The kernel's last two axes are the input channels and the
    output channels."""

    def arguments(inputs: Inputs) -> Any:
        return [inputs.normal(*shape), inputs.normal(*kernel) / math.sqrt(math.prod(kernel[:-1]))]

    conv3d.value(
        name,
        arguments,
        dtype=dtype,
        tolerance=TOLERANCES[dtype],
        strides=(1, *by, 1),
        padding=padding,
        **options,
    )


volume("float32-same", (2, 8, 16, 16, 8), (3, 3, 3, 8, 16))
volume("float32-valid", (2, 8, 16, 16, 8), (3, 3, 3, 8, 16), padding="VALID")
volume("kernel-of-one", (2, 4, 6, 5, 8), (1, 1, 1, 8, 5))
volume("kernel-of-one-strided", (1, 5, 6, 7, 3), (1, 1, 1, 3, 4), by=(2, 2, 2))
volume("even-kernel", (1, 5, 6, 7, 3), (2, 2, 2, 3, 4))
volume("even-kernel-valid", (1, 5, 6, 7, 3), (2, 4, 2, 3, 4), padding="VALID")
volume("uneven-kernel", (2, 5, 6, 7, 3), (1, 2, 3, 3, 2))
volume("uneven-kernel-valid", (2, 5, 6, 7, 3), (3, 1, 2, 3, 2), padding="VALID")
volume("kernel-as-large-as-the-volume", (2, 3, 4, 5, 3), (3, 4, 5, 3, 2), padding="VALID")
volume("kernel-larger-than-the-volume", (1, 2, 2, 3, 2), (5, 3, 4, 2, 3))
volume("stride-two", (2, 6, 8, 7, 3), (3, 3, 3, 3, 4), by=(2, 2, 2))
volume("stride-two-valid", (2, 7, 8, 9, 3), (3, 3, 3, 3, 4), by=(2, 2, 2), padding="VALID")
volume("stride-three", (1, 7, 8, 9, 2), (2, 2, 2, 2, 3), by=(3, 3, 3))
volume("stride-larger-than-the-kernel", (1, 9, 8, 9, 2), (1, 2, 1, 2, 3), by=(3, 3, 3), padding="VALID")
volume("strides-differ", (2, 6, 9, 8, 3), (3, 3, 3, 3, 2), by=(1, 3, 2))
volume("strides-differ-valid", (2, 6, 9, 8, 3), (2, 3, 1, 3, 2), by=(2, 1, 3), padding="VALID")
volume("one-channel", (2, 5, 5, 5, 1), (3, 3, 3, 1, 1))
volume("empty-batch", (0, 5, 5, 5, 3), (3, 3, 3, 3, 2), padding="VALID")
volume("depth-of-one", (2, 1, 9, 8, 3), (1, 3, 3, 3, 4))
# Some processors add in bfloat16. A sum of four terms is then exact within one step of the type.
for dtype, weights in (("float64", (2, 3, 2, 3, 4)), ("float16", (2, 3, 2, 3, 4)), ("bfloat16", (1, 2, 2, 1, 4))):
    shape = (2, 5, 6, 4, weights[3])
    volume(dtype, shape, weights, dtype=dtype)
    volume(f"{dtype}-strided-valid", shape, weights, by=(1, 2, 2), padding="VALID", dtype=dtype)
volume("traced", (2, 5, 6, 4, 3), (2, 3, 2, 3, 4), prepare=traced)
volume("of-unknown-shapes", (2, 5, 6, 4, 3), (2, 3, 2, 3, 4), prepare=of_unknown_shapes)
volume("in-graph", (2, 5, 6, 4, 3), (2, 3, 2, 3, 4), padding="VALID", prepare=in_graph)


def volume_gradient(name: str, out: tuple[int, ...], by: tuple[int, int, int], padding: str, dtype: str) -> None:
    conv3d.value(
        name,
        lambda inputs: [inputs.normal(2, 4, 5, 6, 3), inputs.normal(2, 3, 2, 3, 4) / 6, inputs.normal(*out)],
        dtype=dtype,
        tolerance=TOLERANCES[dtype],
        reference=convolved_backward,
        prepare=gradient,
        strides=(1, *by, 1),
        padding=padding,
    )


volume_gradient("gradient", (2, 4, 5, 6, 4), (1, 1, 1), "SAME", "float32")
volume_gradient("gradient-valid", (2, 3, 3, 5, 4), (1, 1, 1), "VALID", "float32")
volume_gradient("gradient-strided", (2, 2, 3, 3, 4), (2, 2, 2), "SAME", "float64")
volume_gradient("gradient-strided-valid", (2, 2, 2, 2, 4), (2, 2, 3), "VALID", "float64")
for name, kernel in {"channels-that-differ": (2, 2, 2, 2, 4), "a-kernel-of-four-axes": (2, 2, 3, 4)}.items():
    conv3d.behaviour(
        f"refuses-{name}",
        lambda inputs, kernel=kernel: [inputs.normal(1, 4, 4, 4, 3), inputs.normal(*kernel)],  # type: ignore[misc]
        refused,
        prepare=refusing(ValueError, tf.errors.InvalidArgumentError, strides=(1,) * 5, padding="SAME"),
        refuses=True,
    )


for name, padding in {"dilations": "SAME", "dilations-valid": "VALID"}.items():
    volume(name, (2, 7, 8, 9, 3), (2, 3, 2, 3, 4), padding=padding, dilations=(1, 2, 1, 3, 1))
conv3d.value(
    "gradient-dilations",
    lambda inputs: [inputs.normal(2, 5, 6, 7, 3), inputs.normal(2, 3, 2, 3, 4) / 6, inputs.normal(2, 3, 4, 5, 4)],
    tolerance=SUMMED,
    reference=convolved_backward,
    prepare=gradient,
    strides=(1, 1, 1, 1, 1),
    padding="VALID",
    dilations=(1, 2, 1, 2, 1),
)
LAID_OUT: dict[str, dict[str, Any]] = {
    "channels-first": {"strides": (1, 1, 1, 1, 1), "padding": "SAME"},
    "channels-first-strided-valid": {"strides": (1, 1, 2, 1, 3), "padding": "VALID"},
    "channels-first-dilations": {"strides": (1,) * 5, "padding": "SAME", "dilations": (1, 1, 1, 2, 3)},
}
for name, options in LAID_OUT.items():
    conv3d.value(
        name,
        lambda inputs: [inputs.normal(2, 3, 5, 6, 9), inputs.normal(2, 3, 2, 3, 4) / 6],
        tolerance=SUMMED,
        data_format="NCDHW",
        **options,
    )
conv3d.value(
    "nan-and-infinity-reach-their-windows",
    lambda inputs: [with_edges(inputs.normal(1, 4, 5, 6, 1)), inputs.uniform(2, 2, 2, 1, 2, low=0.5)],
    strides=(1, 1, 1, 1, 1),
    padding="VALID",
)


def sides(strides: Any) -> tuple[int, ...]:
    """Return all four strides. One number, a pair, or all four are allowed."""
    pair = (strides, strides) if isinstance(strides, int) else tuple(strides)
    return pair if len(pair) == 4 else (1, *pair, 1)


def enlarged(
    x: Array,
    kernel: Array,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NHWC",
    dilations: Any = 1,
) -> Array:
    if data_format == "NCHW":
        shape = channel_last(output_shape)
        return channels_first(enlarged(channels_last(x), kernel, shape, strides, padding, dilations=dilations))
    whole = np.empty([int(size) for size in output_shape])
    return spread(x, kernel, laid(whole, kernel, sides(strides), padding, sides(dilations)))


def with_edges(x: Array) -> Array:
    """Put a NaN and an infinity into the array, far from each other."""
    flat = x.reshape(-1)
    flat[len(flat) // 4], flat[-len(flat) // 4] = np.nan, np.inf
    return x


def enlarged_backward(
    x: Array, kernel: Array, output_shape: Any, upstream: Array, *, strides: Any, padding: str = "SAME"
) -> Any:
    geometry = laid(upstream, kernel, sides(strides), padding, None)
    return [
        spread(x, kernel, geometry),
        correlated(upstream, kernel, geometry),
        of_kernel(upstream, x, kernel, geometry),
    ]


conv2d_transpose = Function("tf.nn.conv2d_transpose", enlarged)


def image(
    name: str,
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    out: Any,
    dtype: str = "float32",
    **options: Any,
) -> None:
    """Add a case. The kernel has the output channels before the input channels."""

    def arguments(inputs: Inputs) -> Any:
        return [inputs.normal(*shape), inputs.normal(*kernel) / math.sqrt(math.prod(kernel[:2]) * kernel[-1]), out]

    conv2d_transpose.value(name, arguments, dtype=dtype, tolerance=TOLERANCES[dtype], **options)


image("float32-doubled", (4, 16, 16, 16), (3, 3, 8, 16), [4, 32, 32, 8], strides=2)
image("stride-of-one", (2, 6, 4, 3), (3, 3, 2, 3), [2, 6, 4, 2], strides=[1, 1, 1, 1])
image("stride-of-one-valid", (2, 6, 4, 3), (3, 3, 2, 3), [2, 8, 6, 2], strides=1, padding="VALID")
image("doubled-valid", (2, 6, 4, 3), (3, 3, 2, 3), [2, 13, 9, 2], strides=[2, 2], padding="VALID")
image("doubled-valid-with-a-rest", (2, 6, 4, 3), (3, 3, 2, 3), [2, 14, 10, 2], strides=[2, 2], padding="VALID")
image("odd-size", (2, 4, 3, 3), (3, 3, 2, 3), [2, 7, 5, 2], strides=2)
image("strides-differ", (2, 4, 3, 3), (2, 3, 2, 3), [2, 8, 9, 2], strides=[1, 2, 3, 1])
image("even-kernel", (1, 5, 6, 3), (4, 2, 2, 3), [1, 10, 12, 2], strides=2)
image("kernel-smaller-than-the-stride", (1, 4, 5, 3), (1, 1, 2, 3), [1, 8, 10, 2], strides=2)
image("one-pixel", (2, 1, 1, 3), (4, 4, 2, 3), [2, 4, 4, 2], strides=1, padding="VALID")
image("empty-batch", (0, 4, 4, 3), (3, 3, 2, 3), [0, 8, 8, 2], strides=2)
for dtype in ("float64", "float16", "bfloat16"):
    image(dtype, (2, 4, 5, 3), (3, 3, 2, 3), [2, 8, 10, 2], dtype, strides=2)
image("size-on-device", (2, 4, 5, 3), (3, 3, 2, 3), np.array([2, 8, 10, 2], "int32"), strides=2)
image("traced", (2, 4, 5, 3), (3, 3, 2, 3), [2, 8, 10, 2], strides=2, prepare=traced)
image("in-graph", (2, 4, 5, 3), (3, 3, 2, 3), [2, 8, 10, 2], strides=2, prepare=in_graph)
for dtype in ("float32", "float64"):
    conv2d_transpose.value(
        f"gradient-{dtype}",
        lambda inputs: [
            inputs.normal(2, 4, 5, 3),
            inputs.normal(3, 3, 2, 3) / 5,
            [2, 8, 10, 2],
            inputs.normal(2, 8, 10, 2),
        ],
        dtype=dtype,
        tolerance=TOLERANCES[dtype],
        reference=enlarged_backward,
        prepare=gradient,
        strides=2,
    )
for name, (dilations, padding, size) in {
    "dilations": (2, "SAME", [2, 4, 5, 2]),
    "dilations-valid": ([1, 2, 3, 1], "VALID", [2, 8, 11, 2]),
}.items():
    image(name, (2, 4, 5, 3), (3, 3, 2, 3), size, strides=1, padding=padding, dilations=dilations)
image("channels-first", (2, 3, 4, 5), (3, 3, 2, 3), [2, 2, 8, 10], strides=2, data_format="NCHW")
image(
    "channels-first-valid",
    (2, 3, 4, 5),
    (3, 3, 2, 3),
    [2, 2, 9, 11],
    strides=[2, 2],
    padding="VALID",
    data_format="NCHW",
)
conv2d_transpose.value(
    "nan-and-infinity-reach-their-windows",
    lambda inputs: [with_edges(inputs.normal(1, 5, 6, 1)), inputs.uniform(3, 3, 2, 1, low=0.5), [1, 7, 8, 2]],
    strides=1,
    padding="VALID",
)
conv2d_transpose.behaviour(
    "refuses-a-size-that-does-not-fit",
    lambda inputs: [inputs.normal(1, 4, 4, 3), inputs.normal(3, 3, 2, 3), [1, 11, 8, 2]],
    refused,
    prepare=refusing(ValueError, tf.errors.OpError, strides=2),
    refuses=True,
)

FUNCTIONS: list[Function] = [conv3d, conv2d_transpose]
