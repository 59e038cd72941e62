"""Handwritten cases of data sets: the sources of their elements, and how a TensorFlow 1 graph reads them.

A pipeline runs on the host by TensorFlow's design. Each case builds it and reads it within one call.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT
from runners.tensorflow.placement.sessions import fetched
from runners.tensorflow.suites.library.by_hand import TAGS, Array, chart_in, with_function
from runners.tensorflow.suites.paper.datasets import read, these
from runners.tensorflow.suites.paper.graphing import host, own_graph, session_of, v1

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def rows(inputs: Inputs) -> list[Array]:
    return [inputs.normal(4, 3)]


def all_rows(values: Array) -> Any:
    return these(list(values))


def slices(values: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(values)


def in_pairs(function: Any, values: Any) -> Any:
    return read(function.from_tensor_slices(values).batch(2), 2)


for name, body, reference in (
    ("tf.data.Dataset.from_tensor_slices", lambda function, values: read(function(values), 4), all_rows),
    (
        "tf.data.Dataset.from_tensors",
        lambda function, values: read(function(values), 1),
        lambda values: these([values]),
    ),
    ("tf.data.Dataset", in_pairs, lambda values: these([values[:2], values[2:]])),
    ("tf.compat.v1.data.Dataset", in_pairs, lambda values: these([values[:2], values[2:]])),
    (
        "tf.compat.v1.data.Dataset.from_tensor_slices",
        lambda function, values: read(function(values), 4),
        all_rows,
    ),
    (
        "tf.compat.v1.data.Dataset.from_tensors",
        lambda function, values: read(function(values), 1),
        lambda values: these([values]),
    ),
    (
        "tf.data.Dataset.zip",
        lambda function, values: read(function((slices(values), slices(2 * values))), 4),
        lambda values: these([(row, 2 * row) for row in values]),
    ),
):
    charted(name, reference, with_function(body)).value("float32-4x3", rows, tolerance=EXACT, tags=TAGS)


def counted(context: Context) -> Callable[[], Any]:
    return context.compiled(lambda: read(context.function(2, 11, 3), 3))


charted("tf.data.Dataset.range", lambda: these([np.int64(2), np.int64(5), np.int64(8)]), counted).value(
    "int64-steps", lambda inputs: [], dtype="int64", tags=TAGS
)


def generated(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a data set whose elements come from a Python generator over an array on the host."""
    given, signature = host(values), tf.TensorSpec(values.shape[1:], values.dtype)
    return lambda: read(context.function(lambda: iter(given), output_signature=signature), len(given))


charted("tf.data.Dataset.from_generator", all_rows, generated).value("float32-4x3", rows, tolerance=EXACT, tags=TAGS)


def recorded(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a data set of records in a file. The file contains the rows as bytes, which are decoded to numbers."""

    def call() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            with tf.io.TFRecordWriter(f"{folder}/rows") as writer:
                for row in host(values):
                    writer.write(row.tobytes())
            records = context.function(f"{folder}/rows")
            return read(records.map(lambda record: tf.io.decode_raw(record, values.dtype)), len(values))

    return call


charted("tf.data.TFRecordDataset", all_rows, recorded).value("float32-4x3", rows, tolerance=EXACT, tags=TAGS)


def one_after_another(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare an iterator in a graph. Each run of the session returns the next element."""

    def call() -> Any:
        with own_graph(context) as graph:
            dataset = v1.data.Dataset.from_tensor_slices(host(values))
            element = context.function(dataset).get_next()
        session = session_of(graph)
        return [fetched(session.run(element), element) for _ in range(len(values))]

    return call


charted("tf.compat.v1.data.make_one_shot_iterator", list, one_after_another).value(
    "float32-4x3", rows, tolerance=EXACT, tags=TAGS
)
