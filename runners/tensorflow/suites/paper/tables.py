"""Cases of lookup tables: ``tf.lookup.KeyValueTensorInitializer``, judged by lookups in a table that it fills.

A table must be filled eagerly. Only the lookup is compiled, if the device is a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT, Accepted, Expected
from runners.suite.sequences import aligned

Array = np.ndarray[Any, Any]
HARBOURS = np.array([b"Genoa", b"Venice", b"Pisa", b"Palma", b"Ancona"])


def looked_up(
    context: Context, keys: Any, values: Any, queries: Any, *, default: Any, **options: Any
) -> Callable[[], Any]:
    def call() -> Any:
        table = tf.lookup.StaticHashTable(context.function(keys, values, **options), default)
        return context.compiled(lambda: table.lookup(queries))()

    return call


def answers(keys: Array, values: Array, queries: Array, *, default: Any, **_: Any) -> Any:
    known = dict(aligned(keys.tolist(), values.tolist()))
    found = np.array([known.get(query, default) for query in queries.reshape(-1).tolist()]).reshape(queries.shape)
    return Expected(found, "string") if values.dtype.kind == "S" else found.astype(values.dtype)


def numbered(count: int, *shape: int) -> Callable[[Inputs], Any]:
    """Return a maker of ``count`` keys, their values, and queries. Without ``shape``, the queries are the keys and as
    many numbers that are not keys. With ``shape``, they are random numbers of this shape."""

    def arguments(inputs: Inputs) -> Any:
        queries = inputs.integers(*shape, low=0, high=2 * count) if shape else inputs.rng.permutation(2 * count)
        return [inputs.rng.permutation(2 * count)[:count], inputs.normal(count), queries]

    return arguments


def whole(count: int, dtype: str) -> Callable[[Inputs], Any]:
    return lambda inputs: [
        inputs.rng.permutation(2 * count)[:count],
        inputs.integers(count, dtype=dtype),
        inputs.rng.permutation(2 * count),
    ]


table = Function("tf.lookup.KeyValueTensorInitializer", answers, looked_up)
table.value("int64-to-float32-1000", numbered(1000, 64, 128), tolerance=EXACT, default=-1.0)
table.value("int64-to-float64", numbered(20), dtype="float64", tolerance=EXACT, default=0.5)
table.value("int64-to-int64", whole(20, "int64"), dtype="int64", default=-99)
table.value("int64-to-int32", whole(20, "int32"), dtype="int32", default=-99)
table.value(
    "string-to-int64",
    lambda inputs: [HARBOURS, inputs.integers(5), np.array([[b"Pisa", b"Atlantis"], [b"Genoa", b"Pisa"]])],
    dtype="int64",
    default=-1,
)
table.value(
    "int64-to-string",
    lambda inputs: [np.arange(5), HARBOURS, inputs.integers(3, 4, low=0, high=7)],
    dtype="int64",
    default=b"open sea",
)
table.value(
    "string-to-string",
    lambda inputs: [HARBOURS, HARBOURS[::-1], np.append(HARBOURS[::2], [b"Venice", b"Palma", b"venice"])],
    default=b"",
)
table.value(
    "one-key-one-query",
    lambda inputs: [np.array([7]), inputs.normal(1), np.asarray(7)],
    tolerance=EXACT,
    default=2.0,
)


def check_nothing_found(observed: Any, *_: Any, **__: Any) -> None:
    assert (observed.values.shape, observed.dtype) == ((0, 3), "float32"), f"nothing asked, answered: {observed}"


table.behaviour("no-queries", numbered(5, 0, 3), check_nothing_found, default=0.0)
table.value(
    "same-key-same-value-twice",
    lambda inputs: [np.array([3, 5, 3]), np.array([0.5, 1.5, 0.5]), np.array([5, 3, 4])],
    tolerance=EXACT,
    default=9.0,
)
table.value(
    "python-lists-with-dtypes",
    lambda inputs: [inputs.integers(6, low=0, high=4)],
    dtype="int32",
    reference=lambda queries: np.array([7, 8, 9, -1], "int32")[queries],
    prepare=lambda context, queries: looked_up(
        context, [0, 1, 2], [7, 8, 9], queries, default=-1, key_dtype=tf.int64, value_dtype=tf.int32
    ),
)


def sized(context: Context, keys: Any, values: Any) -> Callable[[], Any]:
    def call() -> Any:
        filled = tf.lookup.StaticHashTable(context.function(keys, values), -1.0)
        return filled.size(), sorted(aligned(*(tensor.numpy().tolist() for tensor in filled.export())))

    return call


table.value(
    "size-and-export",
    lambda inputs: [inputs.rng.permutation(40)[:20], inputs.normal(20)],
    reference=lambda keys, values: (
        np.asarray(len(keys)),
        sorted(aligned(keys.tolist(), values.tolist())),
    ),
    prepare=sized,
)


def vocabulary(context: Context, keys: Any, values: Any, queries: Any, *, buckets: int) -> Callable[[], Any]:
    def call() -> Any:
        filled = tf.lookup.StaticVocabularyTable(context.function(keys, values), buckets)
        return context.compiled(lambda: filled.lookup(queries))()

    return call


def check_vocabulary(observed: Any, keys: Array, values: Array, queries: Array, *, buckets: int) -> None:
    ids = observed.values
    known = np.isin(queries, keys)
    assert np.array_equal(ids[known], [values[list(keys).index(word)] for word in queries[known]]), "a known word's id"
    assert ((ids[~known] >= len(keys)) & (ids[~known] < len(keys) + buckets)).all(), "unknown words have other ids"
    assert len(set(ids[~known].tolist())) > 1, "all unknown words fell into one bucket"


table.behaviour(
    "vocabulary-with-unknown-words",
    lambda inputs: [
        HARBOURS,
        np.array([4, 2, 0, 1, 3]),
        np.array([b"Palma", *(f"rock {number}".encode() for number in range(30)), b"Genoa"]),
    ],
    check_vocabulary,
    prepare=vocabulary,
    dtype="int64",
    buckets=6,
)


def through_a_data_set(context: Context, keys: Any, values: Any, queries: Any) -> Callable[[], Any]:
    def call() -> Any:
        filled = tf.lookup.StaticHashTable(context.function(keys, values), -1.0)
        return list(tf.data.Dataset.from_tensor_slices(queries).map(filled.lookup))

    return call


table.value(
    "mapped-over-a-data-set",
    numbered(6),
    reference=lambda keys, values, queries: list(answers(keys, values, queries, default=-1.0)),
    prepare=through_a_data_set,
    tolerance=EXACT,
)


def refused(context: Context, keys: Any, values: Any) -> Callable[[], Any]:
    """Prepare invalid tables: with two values for a key, with a default of another type, and with more keys than
    values."""
    tries: Sequence[Callable[[], Any]] = (
        lambda: tf.lookup.StaticHashTable(
            context.function(tf.concat([keys, keys], 0), tf.concat([values, -values], 0)), 0.0
        ),
        lambda: tf.lookup.StaticHashTable(context.function(keys, values), "none"),
        lambda: tf.lookup.StaticHashTable(context.function(keys, values[1:]), 0.0),
    )
    return lambda: [_error(attempt) for attempt in tries]


def _error(call: Callable[[], Any]) -> str:
    try:
        call()
    except (TypeError, ValueError, tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError) as error:
        return type(error).__name__
    return "no error"


def check_refused(observed: Any, *_: Any) -> None:
    conflicting, mistyped, uneven = observed
    if "no error" in observed:
        raise Accepted(f"a table was made: the errors were {observed}")
    assert conflicting in ("InvalidArgumentError", "FailedPreconditionError"), f"two values of one key: {conflicting}"
    assert mistyped in ("TypeError", "ValueError", "InvalidArgumentError"), f"a default of another type: {mistyped}"
    assert uneven == "InvalidArgumentError", f"more keys than values: {uneven}"


table.behaviour(
    "refuses-conflicts", lambda inputs: [np.arange(4), inputs.normal(4)], check_refused, prepare=refused, refuses=True
)


def typed(context: Context, keys: Any, values: Any) -> Callable[[], Any]:
    def call() -> Any:
        initializer = context.function(keys, values)
        return initializer.key_dtype.name, initializer.value_dtype.name

    return call


def check_typed(observed: Any, *_: Any) -> None:
    assert observed == ("int64", "float32"), f"it says that its dtypes are {observed}"


table.behaviour("knows-its-dtypes", lambda inputs: [np.arange(4), inputs.normal(4)], check_typed, prepare=typed)
table.value(
    "to-nan-and-infinities",
    lambda inputs: [np.array([3, 5, 8]), np.array([np.nan, np.inf, -np.inf]), np.array([8, 3, 4, 5])],
    default=9.0,
)

FUNCTIONS: list[Function] = [table]
