"""Cases of functions that reduce an axis: ``tf.math.reduce_mean``, ``tf.math.reduce_logsumexp``."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function
from runners.suite.checks import Tolerance
from runners.suite.optional import optional
from runners.tensorflow.suites.paper.calls import gradient, in_graph, of_unknown_shapes, refused, refusing, traced

special = optional("scipy.special")

NAN, INF = float("nan"), float("inf")
SUMMED_IN_HALF = Tolerance(4e-3, 4e-3)
"""The tolerance of float16 and bfloat16 sums of some hundred values, which a kernel may add in the same type."""


def averaged(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    # Integers are divided as integers, with rounding toward zero.
    if x.dtype.kind in "iu":
        count = x.size // max(1, np.sum(x, axis=axis).size)
        return np.trunc(np.sum(x, axis=axis, keepdims=keepdims) / count).astype(x.dtype)
    return np.asarray(np.mean(x, axis=axis, keepdims=keepdims))


def spread(x: Any, upstream: Any, axis: int) -> Any:
    """Compute the gradient of a mean: the upstream gradient in equal parts."""
    return [averaged(x, axis), np.broadcast_to(np.expand_dims(upstream, axis), x.shape) / x.shape[axis]]


mean = Function("tf.math.reduce_mean", averaged)
mean.value("float32-256x256", lambda inputs: [inputs.uniform(256, 256)])
mean.value("float32-rows", lambda inputs: [inputs.normal(64, 128)], axis=1)
mean.value("float32-first-axis", lambda inputs: [inputs.normal(128, 64)], axis=0)
mean.value("float32-negative-axis", lambda inputs: [inputs.normal(4, 5, 60)], axis=-1)
mean.value("float32-middle-axis-kept", lambda inputs: [inputs.normal(6, 70, 8)], axis=1, keepdims=True)
mean.value("float32-two-axes", lambda inputs: [inputs.normal(6, 7, 8)], axis=(0, 2))
mean.value("float32-all-axes-named", lambda inputs: [inputs.uniform(6, 7, 8)], axis=(0, 1, 2))
mean.value("float32-all-kept", lambda inputs: [inputs.uniform(6, 7, 8)], keepdims=True)
mean.value("float32-no-axis-named", lambda inputs: [inputs.normal(5, 6)], axis=())
mean.value("five-axes", lambda inputs: [inputs.normal(3, 4, 2, 5, 6)], axis=(1, -1))
mean.value(
    "float64-two-axes-kept", lambda inputs: [inputs.normal(6, 7, 8)], dtype="float64", axis=(0, -1), keepdims=True
)
mean.value("float64-all", lambda inputs: [inputs.normal(40, 50)], dtype="float64")
mean.value(
    "float16-last-axis",
    lambda inputs: [inputs.uniform(16, 100, low=2, high=3)],
    dtype="float16",
    tolerance=SUMMED_IN_HALF,
    axis=-1,
)
mean.value(
    "bfloat16-first-axis",
    lambda inputs: [inputs.uniform(64, 32, low=2, high=3)],
    dtype="bfloat16",
    tolerance=Tolerance(1.2e-2, 0.0),
    axis=0,
)
mean.value("complex64", lambda inputs: [inputs.normal(9, 20) + 1j * inputs.normal(9, 20)], dtype="complex64", axis=0)
mean.value("complex128", lambda inputs: [inputs.normal(9, 20) + 1j * inputs.normal(9, 20)], dtype="complex128", axis=1)
for integers in ("int32", "int64", "int16", "int8"):
    mean.value(
        f"{integers}-truncates",
        lambda inputs, integers=integers: [inputs.integers(6, 7, low=-9, high=10, dtype=integers)],  # type: ignore[misc]
        dtype=integers,
        axis=1,
    )
mean.value("uint8", lambda inputs: [inputs.integers(6, 5, low=0, high=40, dtype="uint8")], dtype="uint8", axis=1)
mean.value("one-element-axis", lambda inputs: [inputs.normal(7, 1)], axis=1)
mean.value("scalar", lambda inputs: [inputs.normal()])
mean.value("nan-and-infinities", lambda inputs: [np.array([[1, NAN], [INF, 2], [INF, -INF], [-INF, 0]])], axis=1)
mean.value("empty-is-nan", lambda inputs: [inputs.normal(0, 4)], axis=0, reference=lambda x, axis: np.full(4, NAN))
mean.value("no-rows-left", lambda inputs: [inputs.normal(0, 4)], axis=1, reference=lambda x, axis: np.zeros(0))
mean.value("traced", lambda inputs: [inputs.normal(32, 33)], axis=0, prepare=traced)
mean.value("of-unknown-shapes", lambda inputs: [inputs.normal(12, 13, 14)], axis=(0, 2), prepare=of_unknown_shapes)
mean.value("in-graph", lambda inputs: [inputs.normal(32, 33)], axis=1, prepare=in_graph)
mean.value(
    "axis-on-device", lambda inputs: [inputs.normal(12, 13), np.array([0], "int32")], reference=lambda x, _: x.mean(0)
)
mean.value(
    "gradient", lambda inputs: [inputs.normal(8, 9), inputs.normal(8)], axis=1, prepare=gradient, reference=spread
)
mean.value(
    "gradient-float64",
    lambda inputs: [inputs.normal(5, 6, 7), inputs.normal(5, 7)],
    dtype="float64",
    axis=1,
    prepare=gradient,
    reference=spread,
)
mean.value(
    "gradient-complex64",
    lambda inputs: [inputs.normal(4, 5) + 1j * inputs.normal(4, 5), inputs.normal(4) + 1j * inputs.normal(4)],
    dtype="complex64",
    axis=1,
    prepare=gradient,
    reference=spread,
)


def of_ragged(context: Context, values: Any, splits: Any, axis: int) -> Any:
    return context.compiled(
        lambda: context.function(tf.RaggedTensor.from_row_splits(values, splits, validate=False), axis=axis)
    )


def ragged_rows(values: Any, splits: Any, axis: int) -> Any:
    return np.array([row.mean() for row in np.split(values, splits[1:-1])])


mean.value(
    "ragged-rows",
    lambda inputs: [inputs.normal(20), np.array([0, 3, 4, 11, 20])],
    axis=1,
    prepare=of_ragged,
    reference=ragged_rows,
)


mean.behaviour(
    "refuses-an-axis-too-far",
    lambda inputs: [inputs.normal(3, 4)],
    refused,
    prepare=refusing(ValueError, tf.errors.InvalidArgumentError, axis=2),
    refuses=True,
)


def log_of_sums(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(special.logsumexp(x, axis=axis, keepdims=keepdims))


def log_of_sums_backward(x: Any, upstream: Any, axis: int) -> Any:
    """Compute the gradient of the logarithm of a sum of exponentials: the softmax."""
    return [log_of_sums(x, axis), special.softmax(x, axis) * np.expand_dims(upstream, axis)]


logsumexp = Function("tf.math.reduce_logsumexp", log_of_sums)
logsumexp.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
logsumexp.value("float32-rows", lambda inputs: [inputs.normal(64, 128)], axis=1)
logsumexp.value("float32-kept", lambda inputs: [inputs.normal(6, 7, 8)], axis=(0, -1), keepdims=True)
logsumexp.value("float64", lambda inputs: [inputs.normal(20, 30)], dtype="float64", axis=0)
logsumexp.value("float16", lambda inputs: [inputs.normal(9, 20)], dtype="float16", tolerance=SUMMED_IN_HALF, axis=-1)
logsumexp.value(
    "bfloat16", lambda inputs: [inputs.normal(9, 20)], dtype="bfloat16", tolerance=Tolerance(1.6e-2, 1.6e-2), axis=1
)
logsumexp.value("would-overflow", lambda inputs: [inputs.uniform(5, 8, low=900, high=1100)], axis=1)
logsumexp.value("would-underflow", lambda inputs: [inputs.uniform(5, 8, low=-1100, high=-900)], axis=1)
logsumexp.value("infinities", lambda inputs: [np.array([[-INF, -INF], [-INF, 2.5], [INF, 1.0], [NAN, 0.5]])], axis=1)
logsumexp.value(
    "empty-is-minus-infinity", lambda inputs: [inputs.normal(0, 4)], axis=0, reference=lambda x, axis: np.full(4, -INF)
)
logsumexp.value("traced", lambda inputs: [inputs.normal(32, 33)], axis=0, prepare=traced)
logsumexp.value("of-unknown-shapes", lambda inputs: [inputs.normal(12, 13)], axis=1, prepare=of_unknown_shapes)
logsumexp.value(
    "gradient",
    lambda inputs: [inputs.normal(8, 9), inputs.normal(8)],
    axis=1,
    prepare=gradient,
    reference=log_of_sums_backward,
)

FUNCTIONS: list[Function] = [mean, logsumexp]
