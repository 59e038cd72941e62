"""Cases of batches of elements with different shapes, as ragged tensors:
``tf.data.experimental.dense_to_ragged_batch``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT, Expected
from runners.suite.sequences import aligned
from runners.tensorflow.suites.paper.datasets import Array, Slices, expect, read, refused, these


def ragged(
    context: Context, rows: Any, lengths: Any, *, elements: int, batch_size: int, **options: Any
) -> Callable[[], Any]:
    """Prepare batches of rows that are each cut to a length."""

    def call() -> Any:
        dataset = Slices((rows, lengths)).map(lambda row, length: row[:length])
        return read(dataset.apply(context.function(batch_size, **options)), elements)

    return context.compiled(call)


def ragged_reference(
    rows: Array, lengths: Array, *, batch_size: int, drop_remainder: bool = False, splits: str = "int64", **_: Any
) -> Any:
    batches = []
    for start in range(0, len(rows), batch_size):
        cut = [row[:length] for row, length in aligned(rows, lengths)][start : start + batch_size]
        if len(cut) < batch_size and drop_remainder:
            break
        ends = np.cumsum([0, *map(len, cut)]).astype(splits)
        values = np.concatenate(cut)
        batches.append(
            {"values": Expected(values, "string") if values.dtype.kind == "S" else values, "row_splits": [ends]}
        )
    return these(batches)


def cut_rows(count: int, *shape: int) -> Callable[[Inputs], Any]:
    """Make rows and their lengths. One row is empty, and one has its full length."""

    def arguments(inputs: Inputs) -> Any:
        lengths = inputs.integers(count, low=0, high=shape[0] + 1)
        lengths[:2] = shape[0], 0
        return [inputs.normal(count, *shape), lengths]

    return arguments


def cut(make: Callable[[Inputs], Any], lengths: Sequence[int]) -> Callable[[Inputs], Any]:
    return lambda inputs: [make(inputs), np.array(lengths)]


ragged_batch = Function("tf.data.experimental.dense_to_ragged_batch", ragged_reference, ragged)
ragged_batch.value("float32-64x128", cut_rows(64, 128), tolerance=EXACT, elements=4, batch_size=16)
ragged_batch.value("last-batch-smaller", cut_rows(10, 6), tolerance=EXACT, elements=3, batch_size=4)
ragged_batch.value(
    "last-batch-dropped", cut_rows(10, 6), tolerance=EXACT, elements=2, batch_size=4, drop_remainder=True
)
ragged_batch.value("batch-larger-than-all", cut_rows(5, 6), tolerance=EXACT, elements=1, batch_size=32)
ragged_batch.value("one-a-batch", cut_rows(3, 4), tolerance=EXACT, elements=3, batch_size=1)
ragged_batch.value("matrices-of-any-height", cut_rows(6, 5, 3), tolerance=EXACT, elements=2, batch_size=3)
ragged_batch.value(
    "all-empty", cut(lambda inputs: inputs.normal(4, 3), [0, 0, 0, 0]), tolerance=EXACT, elements=2, batch_size=2
)
for dtype in ("float64", "float16", "bfloat16"):
    ragged_batch.value(dtype, cut_rows(6, 5), dtype=dtype, tolerance=EXACT, elements=2, batch_size=3)
ragged_batch.value(
    "complex64",
    cut(lambda inputs: inputs.normal(4, 3) + 1j * inputs.normal(4, 3), [3, 1, 0, 2]),
    dtype="complex64",
    tolerance=EXACT,
    elements=2,
    batch_size=2,
)
for dtype in ("int32", "int64", "uint8"):
    ragged_batch.value(
        dtype,
        cut(lambda inputs, dtype=dtype: inputs.integers(4, 3, low=0, dtype=dtype), [1, 3, 2, 0]),  # type: ignore[misc]
        dtype=dtype,
        elements=2,
        batch_size=2,
    )
ragged_batch.value(
    "bool", cut(lambda inputs: inputs.booleans(4, 3), [1, 3, 2, 0]), dtype="bool", elements=2, batch_size=2
)
ragged_batch.value(
    "strings",
    cut(lambda inputs: np.array([[b"bay", b"cape"], [b"reef", b"shoal"], [b"isle", b"sound"]]), [2, 1, 0]),
    elements=2,
    batch_size=2,
)


def split_in_int32(context: Context, *arrays: Any, **options: Any) -> Callable[[], Any]:
    del options["splits"]
    return ragged(context, *arrays, row_splits_dtype=tf.int32, **options)


ragged_batch.value(
    "row-splits-in-int32",
    cut_rows(6, 5),
    prepare=split_in_int32,
    tolerance=EXACT,
    elements=2,
    batch_size=3,
    splits="int32",
)


def ragged_twice(
    context: Context, blocks: Any, heights: Any, widths: Any, *, elements: int, batch_size: int
) -> Callable[[], Any]:
    def call() -> Any:
        dataset = Slices((blocks, heights, widths)).map(lambda block, height, width: block[:height, :width])
        return read(dataset.apply(context.function(batch_size)), elements)

    return context.compiled(call)


def ragged_twice_reference(blocks: Array, heights: Array, widths: Array, *, batch_size: int, **_: Any) -> Any:
    batches = []
    for start in range(0, len(blocks), batch_size):
        here = slice(start, start + batch_size)
        sizes = list(aligned(blocks[here], heights[here], widths[here]))
        lines = [width for _, height, width in sizes for _ in range(height)]
        values = np.concatenate([block[:height, :width].reshape(-1) for block, height, width in sizes])
        batches.append({"values": values, "row_splits": [np.cumsum([0, *heights[here]]), np.cumsum([0, *lines])]})
    return these(batches)


ragged_batch.value(
    "two-ragged-axes",
    lambda inputs: [inputs.normal(4, 5, 6), np.array([5, 2, 0, 3]), np.array([1, 6, 4, 3])],
    reference=ragged_twice_reference,
    prepare=ragged_twice,
    tolerance=EXACT,
    elements=2,
    batch_size=2,
)


def named_parts(context: Context, rows: Any, lengths: Any, *, elements: int, batch_size: int) -> Callable[[], Any]:
    """Prepare batches of dictionaries. Members with one known shape are batched densely."""

    def call() -> Any:
        dataset = Slices((rows, lengths)).map(lambda row, length: {"cut": row[:length], "whole": row, "length": length})
        return read(dataset.apply(context.function(batch_size)), elements)

    return context.compiled(call)


def named_reference(rows: Array, lengths: Array, *, batch_size: int, elements: int) -> Any:
    cuts = ragged_reference(rows, lengths, batch_size=batch_size)["elements"]
    batches = [slice(start, start + batch_size) for start in range(0, len(rows), batch_size)]
    return these([{"cut": one, "whole": rows[here], "length": lengths[here]} for one, here in aligned(cuts, batches)])


ragged_batch.value(
    "dictionaries",
    cut_rows(5, 4),
    reference=named_reference,
    prepare=named_parts,
    tolerance=EXACT,
    elements=2,
    batch_size=3,
)
ragged_batch.value(
    "summed-by-row",
    cut_rows(32, 64),
    reference=lambda rows, lengths, *, batch_size, elements: [
        np.array([row[:length].sum() for row, length in aligned(rows[here], lengths[here])])
        for here in (slice(batch_size * number, batch_size * (number + 1)) for number in range(elements))
    ],
    prepare=lambda context, rows, lengths, *, elements, batch_size: context.compiled(
        lambda: [
            tf.reduce_sum(batch, axis=1)
            for batch in read(
                Slices((rows, lengths)).map(lambda row, length: row[:length]).apply(context.function(batch_size)),
                elements,
            )["elements"]
        ]
    ),
    elements=4,
    batch_size=8,
)
ragged_batch.behaviour(
    "refuses-batches-of-nothing",
    lambda inputs: [],
    expect("InvalidArgumentError"),
    prepare=refused(lambda context: tf.data.Dataset.range(4).apply(context.function(0))),
    refuses=True,
)
ragged_batch.value(
    "nan-and-infinities",
    cut(lambda inputs: np.array([[np.nan, 1.0, np.inf], [-np.inf, np.nan, 0.5]]), [3, 2]),
    elements=1,
    batch_size=2,
)


FUNCTIONS: list[Function] = [ragged_batch]
