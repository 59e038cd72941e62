"""Cases of functions that only move values: ``tf.reshape``, ``tf.nn.space_to_batch``,
``tf.experimental.numpy.diagflat``.

They compute nothing, so every value must be exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Function, Inputs
from runners.suite.checks import EXACT
from runners.suite.sequences import aligned
from runners.tensorflow.suites.paper.calls import gradient, in_graph, of_unknown_shapes, refused, refusing, traced

NAN, INF = float("nan"), float("inf")
TYPES = ("float64", "float16", "bfloat16", "complex64", "complex128", "int32", "int64", "uint8", "bool")


def of_type(dtype: str, *shape: int) -> Callable[[Inputs], Any]:
    """Make values of any dtype."""

    def make_values(inputs: Inputs) -> Any:
        if dtype == "bool":
            return inputs.booleans(*shape)
        if dtype.startswith("complex"):
            return inputs.normal(*shape) + 1j * inputs.normal(*shape)
        if "float" in dtype:
            return inputs.normal(*shape)
        return inputs.integers(*shape, low=0, high=100, dtype=dtype)

    return make_values


def reshaped(x: Any, shape: Any) -> Any:
    return np.reshape(x, tuple(shape))


reshape = Function("tf.reshape", reshaped)


def reshaping(name: str, make: Callable[[Inputs], Any], shape: Any, **options: Any) -> None:
    reshape.value(name, lambda inputs: [make(inputs), shape], tolerance=EXACT, **options)


reshaping("float32-256x256", lambda inputs: inputs.normal(256, 256), [64, 1024])
reshaping("one-axis-inferred", lambda inputs: inputs.normal(64, 128), [-1, 32])
reshaping("last-axis-inferred", lambda inputs: inputs.normal(6, 4, 5), (3, 2, -1))
reshaping("flat", lambda inputs: inputs.normal(6, 4, 5), [-1])
reshaping("axes-of-one", lambda inputs: inputs.normal(6, 4), [1, 6, 1, 4, 1])
reshaping("axes-of-one-dropped", lambda inputs: inputs.normal(1, 6, 1, 4), [6, 4])
reshaping("eight-axes", lambda inputs: inputs.normal(256), [2] * 8)
reshaping("to-a-scalar", lambda inputs: inputs.normal(1, 1), [])
reshaping("from-a-scalar", lambda inputs: inputs.normal(), [1, 1])
reshaping("no-elements", lambda inputs: inputs.normal(0, 4), [2, 0, 3])
reshaping("no-elements-inferred", lambda inputs: inputs.normal(0, 4), [-1, 4])
for dtype in TYPES:
    reshaping(dtype, of_type(dtype, 6, 8), [4, 12], dtype=dtype)
reshaping("nan-and-infinities-pass", lambda inputs: np.array([[NAN, INF], [-INF, 1.0]]), [4])
reshaping("shape-on-device", lambda inputs: inputs.normal(6, 8), np.array([4, 12], "int32"))
reshaping("shape-on-device-int64", lambda inputs: inputs.normal(6, 8), np.array([-1, 3], "int64"))
reshaping("traced", lambda inputs: inputs.normal(6, 8), [4, -1], prepare=traced)
reshaping("of-unknown-shape", lambda inputs: inputs.normal(6, 8), [4, -1], prepare=of_unknown_shapes)
reshaping("in-graph", lambda inputs: inputs.normal(6, 8), [3, 16], prepare=in_graph)
for dtype in ("float32", "float64"):
    reshape.value(
        f"gradient-{dtype}",
        lambda inputs: [inputs.normal(8, 9), [6, 12], inputs.normal(6, 12)],
        dtype=dtype,
        reference=lambda x, shape, upstream: [reshaped(x, shape), reshaped(upstream, x.shape)],
        prepare=gradient,
        tolerance=EXACT,
    )
for name, shape in {
    "another-size": [5, 5],
    "two-axes-to-infer": [-1, -1],
    "a-size-that-does-not-divide": [-1, 7],
}.items():
    reshape.behaviour(
        f"refuses-{name}",
        lambda inputs, shape=shape: [inputs.normal(6, 4), shape],  # type: ignore[misc]
        refused,
        prepare=refusing(ValueError, tf.errors.InvalidArgumentError),
        refuses=True,
    )


def to_batch(x: Any, block_shape: Any, paddings: Any) -> Any:
    """Pad the array, and move each element of a block to another batch, whose number is the element's place in the
    block."""
    block = [int(size) for size in np.atleast_1d(block_shape)]
    axes = len(block)
    rest = [(0, 0)] * (x.ndim - 1 - axes)
    padded = np.pad(x, [(0, 0), *(tuple(int(side) for side in sides) for sides in paddings), *rest])
    batches = []
    for offset in np.ndindex(*block):
        batches.append(padded[(slice(None), *(slice(at, None, by) for at, by in aligned(offset, block)))])
    return np.concatenate(batches)


def from_batch(batches: Any, shape: Any, block_shape: Any, paddings: Any) -> Any:
    """Undo ``to_batch``, for gradients: elements of ``x`` move back to their places, and the padding is dropped."""
    numbers = np.arange(1, np.prod(shape) + 1).reshape(shape)
    places = to_batch(numbers, block_shape, paddings)
    result = np.zeros(np.prod(shape) + 1)
    result[places] = batches
    return result[1:].reshape(shape)


NONE = [[0, 0], [0, 0]]
space_to_batch = Function("tf.nn.space_to_batch", to_batch)


def batching(name: str, make: Callable[[Inputs], Any], block: Any, paddings: Any, **options: Any) -> None:
    space_to_batch.value(name, lambda inputs: [make(inputs), block, paddings], tolerance=EXACT, **options)


batching("float32-8x32x32x8", lambda inputs: inputs.normal(8, 32, 32, 8), [2, 2], NONE)
batching("blocks-of-four", lambda inputs: inputs.normal(2, 16, 12, 3), [4, 4], NONE)
batching("blocks-2x3", lambda inputs: inputs.normal(2, 6, 9, 2), [2, 3], NONE)
batching("blocks-1x2", lambda inputs: inputs.normal(3, 5, 6, 2), [1, 2], NONE)
batching("padded-at-the-ends", lambda inputs: inputs.normal(2, 5, 7, 3), [2, 2], [[0, 1], [0, 1]])
batching("padded-at-the-beginnings", lambda inputs: inputs.normal(2, 5, 7, 3), [2, 2], [[1, 0], [1, 0]])
batching("padded-on-all-sides", lambda inputs: inputs.normal(2, 4, 4, 3), [3, 2], [[1, 1], [2, 4]])
batching("padded-by-more-than-a-block", lambda inputs: inputs.normal(1, 3, 2, 2), [2, 2], [[2, 3], [4, 0]])
batching("one-batch-one-channel", lambda inputs: inputs.normal(1, 4, 4, 1), [2, 2], NONE)
batching("block-as-large-as-the-image", lambda inputs: inputs.normal(2, 4, 3, 2), [4, 3], NONE)
batching("one-axis", lambda inputs: inputs.normal(2, 12, 5), [3], [[0, 0]])
batching("one-axis-padded", lambda inputs: inputs.normal(2, 7, 5), [4], [[0, 1]])
batching("three-axes", lambda inputs: inputs.normal(2, 4, 6, 2, 3), [2, 3, 2], [[0, 0]] * 3)
batching("three-axes-padded", lambda inputs: inputs.normal(1, 3, 4, 5, 2), [2, 2, 3], [[1, 0], [0, 0], [0, 1]])
batching("no-channels-axis", lambda inputs: inputs.normal(3, 4, 6), [2, 2], NONE)
batching("no-axes-of-blocks", lambda inputs: inputs.normal(3, 4, 6), [1], [[1, 1]])
batching("empty-batch", lambda inputs: inputs.normal(0, 4, 4, 3), [2, 2], NONE)
for dtype in ("float64", "float16", "bfloat16", "int8", "int32", "int64", "uint8"):
    batching(dtype, of_type(dtype, 2, 4, 5, 3), [2, 2], [[0, 0], [1, 0]], dtype=dtype)
batching("traced", lambda inputs: inputs.normal(2, 4, 6, 3), [2, 3], NONE, prepare=traced)
batching("in-graph", lambda inputs: inputs.normal(2, 4, 6, 3), [2, 3], NONE, prepare=in_graph)
batching("of-unknown-shape", lambda inputs: inputs.normal(2, 4, 6, 3), [2, 2], NONE, prepare=of_unknown_shapes)
batching(
    "blocks-and-padding-on-device",
    lambda inputs: inputs.normal(2, 4, 5, 3),
    np.array([2, 3], "int32"),
    np.array([[0, 0], [1, 0]], "int32"),
)
batching("nan-and-infinities", lambda inputs: np.array([[[NAN, 1.0, INF], [-INF, 0.5, NAN]]])[..., None], [2, 3], NONE)
space_to_batch.value(
    "gradient",
    lambda inputs: [inputs.normal(2, 4, 5, 3), [2, 3], [[0, 0], [1, 0]], inputs.normal(12, 2, 2, 3)],
    reference=lambda x, block, paddings, upstream: [
        to_batch(x, block, paddings),
        from_batch(upstream, x.shape, block, paddings),
    ],
    prepare=gradient,
    tolerance=EXACT,
)
space_to_batch.behaviour(
    "refuses-a-size-that-does-not-divide",
    lambda inputs: [inputs.normal(1, 5, 4, 1), [2, 2], NONE],
    refused,
    prepare=refusing(ValueError, tf.errors.InvalidArgumentError),
    refuses=True,
)
space_to_batch.behaviour(
    "refuses-a-negative-padding",
    lambda inputs: [inputs.normal(1, 4, 4, 1), [2, 2], [[0, -2], [0, 0]]],
    refused,
    prepare=refusing(ValueError, tf.errors.InvalidArgumentError),
    refuses=True,
)

diagflat = Function("tf.experimental.numpy.diagflat", np.diagflat)
diagflat.value("float32-256", lambda inputs: [inputs.normal(256)], tolerance=EXACT)
for dtype in ("float64", "float16", "bfloat16", "complex64", "int32", "int64", "bool"):
    diagflat.value(
        dtype,
        lambda inputs, dtype=dtype: [of_type(dtype, 9)(inputs)],  # type: ignore[misc]
        dtype=dtype,
        tolerance=EXACT,
    )
diagflat.value("matrix-is-flattened", lambda inputs: [inputs.normal(4, 5)], tolerance=EXACT)
diagflat.value("above", lambda inputs: [inputs.normal(7)], tolerance=EXACT, k=3)
diagflat.value("below", lambda inputs: [inputs.normal(7)], tolerance=EXACT, k=-2)
diagflat.value("scalar", lambda inputs: [inputs.normal()], tolerance=EXACT, k=1)
diagflat.value("no-elements-above", lambda inputs: [inputs.normal(0)], k=2)
diagflat.value("traced", lambda inputs: [inputs.normal(12)], tolerance=EXACT, prepare=traced)
diagflat.value(
    "gradient",
    lambda inputs: [inputs.normal(6), inputs.normal(8, 8)],
    reference=lambda v, upstream, k: [np.diagflat(v, k), np.diagonal(upstream, k)],
    prepare=gradient,
    tolerance=EXACT,
    k=2,
)
diagflat.value("nan-and-infinities", lambda inputs: [np.array([[NAN, 1.0, INF], [-INF, 0.0, NAN]])], k=1)

FUNCTIONS: list[Function] = [reshape, space_to_batch, diagflat]
