"""Cases of functions that put values in selected places, or select values by membership: scattered updates, sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT, Expected
from runners.tensorflow.suites.paper.calls import gradient, in_graph, of_unknown_shapes, refused, refusing, traced

Array = np.ndarray[Any, Any]


def places(indices: Array) -> Any:
    return tuple(np.moveaxis(indices, -1, 0))


def updated(values: Array, indices: Array, updates: Array) -> Array:
    result = values.copy()
    result[places(indices)] = updates
    return result


def update_backward(values: Array, indices: Array, updates: Array, upstream: Array) -> Any:
    """Compute the result and its gradients. Overwritten elements get zero, and each update gets the upstream gradient
    of its place."""
    kept = upstream.copy()
    kept[places(indices)] = 0
    return [updated(values, indices, updates), kept, upstream[places(indices)]]


def rows(inputs: Inputs, count: int, of: int, dtype: str = "int32") -> Array:
    """Choose different rows. If two updates had the same row, it would be undefined which one remains."""
    return inputs.rng.permutation(of)[:count, None].astype(dtype)


update = Function("tf.tensor_scatter_nd_update", updated)
update.value(
    "float32-rows-of-256x128",
    lambda inputs: [inputs.normal(256, 128), rows(inputs, 100, 256), inputs.normal(100, 128)],
    tolerance=EXACT,
)
update.value(
    "elements",
    lambda inputs: [
        inputs.normal(9, 8),
        np.stack(np.unravel_index(inputs.rng.permutation(72)[:20], (9, 8)), -1).astype("int32"),
        inputs.normal(20),
    ],
    tolerance=EXACT,
)
update.value(
    "int64-indices", lambda inputs: [inputs.normal(20), rows(inputs, 7, 20, "int64"), inputs.normal(7)], tolerance=EXACT
)
update.value(
    "blocks-of-three-axes",
    lambda inputs: [inputs.normal(5, 6, 7), np.array([[0, 2], [4, 5], [3, 0]]), inputs.normal(3, 7)],
    tolerance=EXACT,
)
update.value(
    "indices-of-two-axes",
    lambda inputs: [inputs.normal(12, 5), rows(inputs, 6, 12).reshape(2, 3, 1), inputs.normal(2, 3, 5)],
    tolerance=EXACT,
)
update.value(
    "float64", lambda inputs: [inputs.normal(12, 3), rows(inputs, 5, 12), inputs.normal(5, 3)], dtype="float64"
)
update.value(
    "float16", lambda inputs: [inputs.normal(12, 3), rows(inputs, 5, 12), inputs.normal(5, 3)], dtype="float16"
)
update.value(
    "bfloat16", lambda inputs: [inputs.normal(12, 3), rows(inputs, 5, 12), inputs.normal(5, 3)], dtype="bfloat16"
)
update.value(
    "complex64",
    lambda inputs: [inputs.normal(9) + 1j, rows(inputs, 4, 9), 1j * inputs.normal(4)],
    dtype="complex64",
)
for dtype in ("int32", "int64", "uint8"):
    update.value(
        dtype,
        lambda inputs, dtype=dtype: [  # type: ignore[misc]
            inputs.integers(9, 4, low=0, high=50, dtype=dtype),
            rows(inputs, 3, 9),
            inputs.integers(3, 4, low=50, high=99, dtype=dtype),
        ],
        dtype=dtype,
    )
update.value(
    "bool",
    lambda inputs: [np.zeros(12, bool), rows(inputs, 5, 12), np.ones(5, bool)],
    dtype="bool",
)
update.value(
    "strings",
    lambda inputs: [np.array([b"bay", b"cape", b"reef"]), np.array([[1]], "int32"), np.array([b"isle"])],
    reference=lambda values, indices, updates: Expected(np.array([b"bay", b"isle", b"reef"]), "string"),
)
update.value(
    "twice-the-same",
    lambda inputs: [inputs.normal(6), np.array([[2], [4], [2]], "int32"), np.array([7.0, 8.0, 7.0])],
    tolerance=EXACT,
)
update.value(
    "nan-and-infinity",
    lambda inputs: [inputs.normal(5), np.array([[3], [0]], "int32"), np.array([np.nan, -np.inf])],
)
update.value(
    "no-updates",
    lambda inputs: [inputs.normal(5, 4), np.zeros((0, 1), "int32"), inputs.normal(0, 4)],
    reference=lambda values, *_: values,
)
update.value(
    "traced",
    lambda inputs: [inputs.normal(12, 3), rows(inputs, 5, 12), inputs.normal(5, 3)],
    prepare=traced,
    tolerance=EXACT,
)
update.value(
    "of-unknown-shapes",
    lambda inputs: [inputs.normal(12, 3), rows(inputs, 5, 12), inputs.normal(5, 3)],
    prepare=of_unknown_shapes,
    tolerance=EXACT,
)
update.value(
    "in-graph",
    lambda inputs: [inputs.normal(12, 3), rows(inputs, 5, 12), inputs.normal(5, 3)],
    prepare=in_graph,
    tolerance=EXACT,
)
update.value(
    "gradient",
    lambda inputs: [inputs.normal(12, 3), rows(inputs, 5, 12), inputs.normal(5, 3), inputs.normal(12, 3)],
    reference=update_backward,
    prepare=gradient,
    tolerance=EXACT,
)
update.behaviour(
    "refuses-a-place-outside",
    lambda inputs: [inputs.normal(5), np.array([[5]], "int32"), inputs.normal(1)],
    refused,
    prepare=refusing(tf.errors.InvalidArgumentError),
    refuses=True,
)
update.behaviour(
    "refuses-updates-of-another-shape",
    lambda inputs: [inputs.normal(5, 4), np.array([[1]], "int32"), inputs.normal(1, 3)],
    refused,
    prepare=refusing(ValueError, tf.errors.InvalidArgumentError),
    refuses=True,
)


def common(one: Array, other: Array) -> Any:
    """Return the values that both arrays have in a row, in order. The result has the parts of a sparse tensor: indices,
    values, shape."""
    indices, values, longest = [], [], 0
    for place in np.ndindex(one.shape[:-1]):
        both = np.intersect1d(one[place], other[place])
        longest = max(longest, len(both))
        indices += [(*place, number) for number in range(len(both))]
        values += list(both)
    return {
        "indices": np.array(indices, "int64").reshape(-1, one.ndim),
        "values": np.array(values, one.dtype),
        "shape": np.array([*one.shape[:-1], longest], "int64"),
    }


def sets(dtype: str, *shape: int, high: int) -> Callable[[Inputs], Any]:
    return lambda inputs: [inputs.integers(*shape, low=0, high=high, dtype=dtype) for _ in range(2)]


intersection = Function("tf.sets.intersection", common)
intersection.value("int32-64-rows", sets("int32", 64, 40, high=100), dtype="int32")
for dtype in ("int64", "uint8", "int16", "int8"):
    intersection.value(dtype, sets(dtype, 5, 8, high=12), dtype=dtype)
intersection.value("three-axes", sets("int64", 3, 4, 6, high=9))
intersection.value(
    "nothing-in-common",
    lambda inputs: [np.array([[1, 2], [3, 4]]), np.array([[3, 4], [1, 2]])],
    dtype="int64",
)
intersection.value(
    "everything-in-common", lambda inputs: [np.array([[2, 1, 1], [3, 4, 9]]), np.array([[1, 2, 2], [4, 9, 3]])]
)
intersection.value(
    "strings",
    lambda inputs: [np.array([[b"bay", b"cape", b"reef"]]), np.array([[b"reef", b"isle", b"bay"]])],
    reference=lambda one, other: {
        "indices": np.array([[0, 0], [0, 1]]),
        "values": Expected(np.array([b"bay", b"reef"]), "string"),
        "shape": np.array([1, 2]),
    },
)
intersection.value("traced", sets("int64", 5, 8, high=12), prepare=traced)


def of_sparse(context: Context, one: Any, indices: Any, values: Any) -> Callable[[], Any]:
    shape = [int(one.shape[0]), 9]
    return context.compiled(lambda: context.function(one, tf.SparseTensor(indices, values, shape)))


def common_to_sparse(one: Array, indices: Array, values: Array) -> Any:
    chosen = [set(values[indices[:, 0] == row]) & set(one[row]) for row in range(len(one))]
    return {
        "indices": np.array([(row, at) for row, columns in enumerate(chosen) for at in range(len(columns))], "int64"),
        "values": np.array([value for columns in chosen for value in sorted(columns)], one.dtype),
        "shape": np.array([len(one), max(map(len, chosen))], "int64"),
    }


intersection.value(
    "dense-and-sparse",
    lambda inputs: [
        np.array([[4, 1, 7], [2, 2, 5], [6, 8, 3]]),
        np.array([[0, 0], [0, 1], [0, 2], [1, 0], [2, 0]]),
        np.array([1, 4, 9, 6, 8]),
    ],
    reference=common_to_sparse,
    prepare=of_sparse,
)
intersection.behaviour(
    "refuses-rows-in-another-number",
    lambda inputs: [np.array([[1, 2], [3, 4]]), np.array([[1, 2]])],
    refused,
    prepare=refusing(ValueError, tf.errors.InvalidArgumentError),
    refuses=True,
)

FUNCTIONS: list[Function] = [update, intersection]
