"""Handwritten cases of composite tensors: sparse and ragged tensors, indexed slices, arrays of tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs, Prepare
from runners.tensorflow.suites.library.by_hand import TAGS, Array, chart_in, must_refuse, with_function

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


# Functions get copies of these arrays, because a tensor may share an array's memory, and a wrong kernel may overwrite
# it.
PLACES = np.array([[0, 1], [1, 0], [2, 3]])
ROWS = np.array([2, 0, 2])
SHAPE = [3, 4]


def sparse_parts(values: Array) -> dict[str, Array]:
    return {"indices": PLACES, "values": values, "shape": np.array(SHAPE)}


def dense(values: Array) -> Array:
    full = np.zeros(SHAPE, values.dtype)
    full[tuple(PLACES.T)] = values
    return full


def three_values(inputs: Inputs) -> Any:
    return [inputs.normal(3)]


def three_integers(inputs: Inputs) -> Any:
    return [inputs.integers(3, low=1)]


def sparse(values: Any) -> Any:
    return tf.SparseTensor(PLACES.copy(), values, SHAPE)


def with_places(function: Any, values: Any) -> Any:
    """Create a sparse tensor, and return its indices, too. The function must not change them."""
    places = PLACES.copy()
    return [function(places, values, SHAPE), tf.constant(places)]


def parts_and_places(values: Array) -> Any:
    return [sparse_parts(values), PLACES]


for name in ("tf.SparseTensor", "tf.sparse.SparseTensor"):
    held = charted(name, parts_and_places, with_function(with_places))
    held.value("float32-3x4", three_values, tags=TAGS)
    held.value("int64-3x4", three_integers, dtype="int64", tags=TAGS)

to_dense = charted("tf.sparse.to_dense", dense, with_function(lambda function, values: function(sparse(values))))
to_dense.value("float32-3x4", three_values, tags=TAGS)
to_dense.value("int64-3x4", three_integers, dtype="int64", tags=TAGS)


def spread(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare the conversion of a dense array to a sparse one. The dense array is built before the call."""
    full = tf.tensor_scatter_nd_update(tf.zeros(SHAPE, values.dtype), PLACES.copy(), values)
    return context.compiled(lambda: context.function(full))


charted("tf.sparse.from_dense", sparse_parts, spread).value("float32-3x4", three_values, tags=TAGS)


def added_up(values: Array) -> Any:
    full = np.zeros((4, 3), values.dtype)
    np.add.at(full, ROWS, values)
    return [{"indices": ROWS, "values": values}, full]


def as_slices(function: Any, values: Any) -> Any:
    """Create indexed slices, and convert them to a tensor, which adds up the slices with the same index."""
    slices = function(values, tf.constant(ROWS.copy()), tf.constant([4, 3]))
    return [slices, tf.convert_to_tensor(slices)]


slices = charted("tf.IndexedSlices", added_up, with_function(as_slices))
slices.value("float32-rows", lambda inputs: [inputs.normal(3, 3)], tags=TAGS)


def ragged_parts(values: Array, lengths: Any = (2, 0, 3)) -> dict[str, Any]:
    return {"values": values, "row_splits": [np.cumsum([0, *lengths])]}


def five_values(inputs: Inputs) -> Any:
    return [inputs.normal(5)]


def rows_of(lists: list[list[float]]) -> dict[str, Any]:
    return ragged_parts(np.concatenate(lists), [len(row) for row in lists])


LENGTHS = [2, 0, 3]
charted(
    "tf.RaggedTensor",
    lambda values: [ragged_parts(values), np.stack([[*values[:2], 0], [0, 0, 0], values[2:]])],
    with_function(lambda function, values: padded(function.from_row_lengths(values, LENGTHS))),
).value("float32-five", five_values, tags=TAGS)


def padded(ragged: Any) -> Any:
    return [ragged, ragged.to_tensor(shape=[3, 3])]


charted(
    "tf.RaggedTensor.from_row_lengths",
    ragged_parts,
    with_function(lambda function, values: function(values, LENGTHS)),
).value("float32-five", five_values, tags=TAGS)
charted(
    "tf.RaggedTensor.from_tensor",
    lambda values: ragged_parts(np.concatenate([values[0, :2], values[2]])),
    with_function(lambda function, values: function(values, lengths=LENGTHS)),
).value("float32-3x3", lambda inputs: [inputs.normal(3, 3)], tags=TAGS)
charted("tf.ragged.constant", rows_of).value(
    "float32-lists", lambda inputs: [[inputs.normal(2).tolist(), [], inputs.normal(3).tolist()]], tags=TAGS
)
charted("tf.ragged.boolean_mask", lambda values, mask: ragged_parts(values[mask], mask.sum(1))).value(
    "float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.booleans(3, 4)], tags=TAGS
)


def written(function: Any, values: Any) -> Any:
    """Fill an array of tensors from its end, and read it from its beginning."""
    array = function(values.dtype, size=3, clear_after_read=False)
    for row in (2, 1, 0):
        array = array.write(row, values[row])
    return [array.read(1), array.stack()]


def taken_apart(function: Any, values: Any) -> Any:
    return function(tf.TensorArray(values.dtype, size=3), values).stack()


charted("tf.TensorArray", lambda values: [values[1], values], with_function(written)).value(
    "float32-rows", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
)
charted("tf.TensorArray.unstack", lambda values: values, with_function(taken_apart)).value(
    "float32-rows", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
)


def reading(index: int) -> Prepare:
    return with_function(lambda function, values: function(tf.TensorArray(values.dtype, size=3).unstack(values), index))


def gathering(*indices: int) -> Prepare:
    return with_function(
        lambda function, values: function(tf.TensorArray(values.dtype, size=3).unstack(values), list(indices))
    )


def writing(index: int) -> Prepare:
    return with_function(
        lambda function, values: function(
            tf.TensorArray(values.dtype, size=3).unstack(values), index, values[0]
        ).stack()
    )


for name, reference, right, wrong in (
    ("tf.TensorArray.read", lambda values: values[1], reading(1), {"far": reading(7), "below": reading(-7)}),
    ("tf.TensorArray.gather", lambda values: values[[2, 0]], gathering(2, 0), {"far": gathering(0, 7)}),
    ("tf.TensorArray.write", lambda values: values[[0, 0, 2]], writing(1), {"far": writing(7)}),
):
    of_array = charted(name, reference, right)
    of_array.value("float32-rows", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
    for place, prepare in wrong.items():
        must_refuse(
            of_array, f"float32-index-{place}", "OutOfRangeError", lambda inputs: [inputs.normal(3, 4)], prepare
        )
