"""Cases of images: ``tf.image.adjust_brightness``, ``tf.image.draw_bounding_boxes``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT, TOLERANCES
from runners.suite.sequences import aligned
from runners.tensorflow.suites.paper.calls import gradient, in_graph, of_unknown_shapes, refused, refusing, traced

Array = np.ndarray[Any, Any]


def brightened(image: Array, delta: float) -> Any:
    """Change the brightness. An integer is a fraction of the largest integer. The result is scaled by the largest
    integer plus one half, truncated and saturated."""
    if image.dtype.kind == "f":
        return image + delta
    largest = np.iinfo(image.dtype).max
    shares = image / largest + delta
    return np.clip(np.floor(shares * (largest + 0.5)), 0, largest).astype(image.dtype)


brightness = Function("tf.image.adjust_brightness", brightened)
brightness.value("float32-batch-of-64x64", lambda inputs: [inputs.uniform(4, 64, 64, 3), 0.1])
brightness.value("darker", lambda inputs: [inputs.uniform(12, 13, 3), -0.35])
brightness.value("float32-beyond-one-is-kept", lambda inputs: [inputs.uniform(8, 9, 3), 1.5])
brightness.value("float16", lambda inputs: [inputs.uniform(8, 9, 3), 0.25], dtype="float16")
brightness.value("bfloat16", lambda inputs: [inputs.uniform(8, 9, 3), 0.25], dtype="bfloat16")
# TensorFlow computes a float64 image in float32.
brightness.value(
    "float64", lambda inputs: [inputs.uniform(8, 9, 3), 0.25], dtype="float64", tolerance=TOLERANCES["float32"]
)
for name, delta in {"brighter": 0.203, "darker": -0.203}.items():
    brightness.value(
        f"uint8-{name}-saturates",
        lambda inputs, delta=delta: [inputs.integers(64, 64, 3, low=0, high=256, dtype="uint8"), delta],  # type: ignore[misc]
        dtype="uint8",
    )
brightness.value("empty", lambda inputs: [inputs.uniform(0, 9, 3), 0.25])
brightness.value("delta-on-device", lambda inputs: [inputs.uniform(8, 9, 3), np.asarray(0.125)])
brightness.value("traced", lambda inputs: [inputs.uniform(8, 9, 3), 0.25], prepare=traced)
brightness.value("of-unknown-shape", lambda inputs: [inputs.uniform(8, 9, 3), 0.25], prepare=of_unknown_shapes)
brightness.value("in-graph", lambda inputs: [inputs.uniform(8, 9, 3), 0.25], prepare=in_graph)
brightness.value(
    "gradient-is-the-upstream",
    lambda inputs: [inputs.uniform(8, 9, 3), np.asarray(0.25), inputs.normal(8, 9, 3)],
    reference=lambda image, delta, upstream: [image + delta, upstream, np.asarray(upstream.sum())],
    prepare=gradient,
)
brightness.value(
    "nan-and-infinities", lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]])[..., None], 0.25]
)

DEFAULT_COLORS = [[1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1]]


def boxed(images: Array, boxes: Array, colors: Any) -> Array:
    """Draw lines one pixel wide through the pixels of the corners. Later boxes cover earlier ones. Sides outside of the
    image are not drawn."""
    result = images.copy()
    height, width, channels = images.shape[1:]
    table = np.array(DEFAULT_COLORS if colors is None else colors, "float64")
    for image, corners in aligned(result, boxes):
        for number, box in enumerate(corners.astype("float32")):
            color = table[number % len(table), :channels]
            top, left, bottom, right = (
                int(edge * np.float32(size - 1)) for edge, size in aligned(box, (height, width) * 2)
            )
            rows = slice(max(top, 0), min(bottom, height - 1) + 1)
            columns = slice(max(left, 0), min(right, width - 1) + 1)
            if top >= 0:
                image[top, columns] = color
            if bottom < height:
                image[bottom, columns] = color
            if left >= 0:
                image[rows, left] = color
            if right < width:
                image[rows, right] = color
    return result


def boxes(inputs: Inputs, images: int, count: int) -> Array:
    """Make boxes inside of the image. The first corner of a box is above and to the left of its second corner."""
    low, high = (
        inputs.uniform(images, count, 2, low=0.02, high=0.45),
        inputs.uniform(images, count, 2, low=0.55, high=0.98),
    )
    return np.concatenate([low, high], -1)


def drawn(count: int, *shape: int, colors: int | None = None) -> Callable[[Inputs], Any]:
    def arguments(inputs: Inputs) -> Any:
        table = None if colors is None else inputs.uniform(colors, shape[-1])
        return [inputs.uniform(*shape), boxes(inputs, shape[0], count), table]

    return arguments


draw = Function("tf.image.draw_bounding_boxes", boxed)
draw.value("float32-4x64x64", drawn(5, 4, 64, 64, 3, colors=5), tolerance=EXACT)
draw.value("default-colours", drawn(3, 2, 20, 30, 4), tolerance=EXACT)
draw.value("default-colours-without-alpha", drawn(2, 2, 20, 30, 3), tolerance=EXACT)
draw.value("colours-are-used-again", drawn(7, 1, 40, 40, 3, colors=2), tolerance=EXACT)
draw.value("one-channel", drawn(2, 2, 20, 30, 1, colors=2), tolerance=EXACT)


def with_float32_boxes(context: Context, images: Any, corners: Any, colors: Any) -> Callable[[], Any]:
    """Prepare a call with float32 boxes and colors for an image of any dtype."""
    given = tf.cast(corners, tf.float32), tf.cast(colors, tf.float32)
    return context.compiled(lambda: context.function(images, *given))


draw.value("float16", drawn(2, 2, 20, 30, 3, colors=2), dtype="float16", tolerance=EXACT, prepare=with_float32_boxes)
draw.value("no-boxes", drawn(0, 2, 9, 8, 3, colors=1), reference=lambda images, *_: images, tolerance=EXACT)
draw.value(
    "sides-outside-are-left-out",
    lambda inputs: [
        inputs.uniform(1, 21, 31, 3),
        np.array([[[-0.3, 0.21, 0.52, 0.83], [0.31, 0.42, 1.4, 1.3]]]),
        inputs.uniform(2, 3),
    ],
    tolerance=EXACT,
)
draw.value(
    "whole-image",
    lambda inputs: [inputs.uniform(1, 9, 8, 3), np.array([[[0.0, 0.0, 1.0, 1.0]]]), inputs.uniform(1, 3)],
    tolerance=EXACT,
)
draw.value("traced", drawn(2, 2, 20, 30, 3, colors=2), tolerance=EXACT, prepare=traced)
draw.value("in-graph", drawn(2, 2, 20, 30, 3, colors=2), tolerance=EXACT, prepare=in_graph)
draw.behaviour(
    "refuses-boxes-of-three-numbers",
    lambda inputs: [inputs.uniform(1, 9, 8, 3), inputs.uniform(1, 2, 3), inputs.uniform(1, 3)],
    refused,
    prepare=refusing(ValueError, tf.errors.InvalidArgumentError),
    refuses=True,
)
draw.value(
    "nan-outside-the-lines",
    lambda inputs: [
        np.where(np.indices((1, 12, 14, 3)).sum(0) % 5 == 0, np.nan, 0.5),
        np.array([[[0.22, 0.25, 0.7, 0.8]]]),
        inputs.uniform(1, 3),
    ],
    tolerance=EXACT,
)

FUNCTIONS: list[Function] = [brightness, draw]
