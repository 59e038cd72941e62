"""Cases of ``tf.data``: data sets. The elements of a data set show what a transformation does.

A pipeline runs on the host by TensorFlow's design. Each case builds it and reads it within one call. So TensorFlow
itself decides how to run it for another device or in a compiled program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs, Prepare
from runners.suite.checks import EXACT, Accepted, Expected

Array = np.ndarray[Any, Any]
Slices = tf.data.Dataset.from_tensor_slices


def read(dataset: Any, elements: int) -> dict[str, Any]:
    """Read the first elements, and whether there are more. This uses ``next`` and no loop, so that it can be
    compiled."""
    iterator = iter(dataset)
    return {
        "elements": [next(iterator) for _ in range(elements)],
        "more": iterator.get_next_as_optional().has_value(),
    }


def these(elements: Iterable[Any], more: bool = False) -> dict[str, Any]:
    """Return the expected result of ``read``: these elements, and whether there are more."""
    return {"elements": list(elements), "more": np.asarray(more)}


def refused(*builds: Callable[[Context], Any]) -> Prepare:
    """Return a ``prepare`` that builds and reads each pipeline, and returns the errors. No pipeline may return an
    element."""

    def prepare(context: Context, *_: Any, **__: Any) -> Callable[[], Any]:
        return lambda: [_error(build, context) for build in builds]

    return prepare


def _error(build: Callable[[Context], Any], context: Context) -> str:
    try:
        next(iter(build(context)))
    except (ValueError, TypeError, tf.errors.InvalidArgumentError) as error:
        return type(error).__name__
    return "no error"


def expect(*names: str) -> Callable[..., None]:
    def check(observed: Any, *_: Any, **__: Any) -> None:
        if "no error" in observed:
            raise Accepted(f"a pipeline was read: the errors were {observed}")
        assert observed == list(names), f"the errors were {observed}"

    return check


def sharded(context: Context, *columns: Any, elements: int, num_shards: int, index: int) -> Callable[[], Any]:
    source = columns[0] if len(columns) == 1 else columns
    return context.compiled(lambda: read(context.function(Slices(source), num_shards, index), elements))


def every(*columns: Array, num_shards: int, index: int, **_: Any) -> Any:
    rows = [
        columns[0][row] if len(columns) == 1 else tuple(column[row] for column in columns)
        for row in range(len(columns[0]))
    ]
    return these(rows[index::num_shards])


shard = Function("tf.data.Dataset.shard", every, sharded)


def one_column(*shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: [inputs.normal(*shape)]


shard.value("float32-rows", one_column(256, 128), tolerance=EXACT, elements=64, num_shards=4, index=1)
shard.value("first-of-two", one_column(9, 3), tolerance=EXACT, elements=5, num_shards=2, index=0)
shard.value("last-of-three", one_column(11, 3), tolerance=EXACT, elements=3, num_shards=3, index=2)
shard.value("float64", one_column(10, 4), dtype="float64", tolerance=EXACT, elements=3, num_shards=3, index=1)
shard.value("bfloat16", one_column(10, 4), dtype="bfloat16", tolerance=EXACT, elements=3, num_shards=4, index=1)
shard.value("int64-scalars", lambda inputs: [inputs.integers(20)], dtype="int64", elements=4, num_shards=5, index=4)
shard.value("bool", lambda inputs: [inputs.booleans(8, 5)], dtype="bool", elements=4, num_shards=2, index=1)
shard.value(
    "strings",
    lambda inputs: [np.array([b"bay", b"cape", b"reef", b"shoal", b"isle"])],
    reference=lambda names, **_: these([Expected(name, "string") for name in names[1::2]]),
    elements=2,
    num_shards=2,
    index=1,
)
shard.value(
    "pairs",
    lambda inputs: [inputs.normal(7, 3), inputs.integers(7)],
    tolerance=EXACT,
    elements=3,
    num_shards=3,
    index=0,
)
shard.value("one-shard-is-all", one_column(4, 3), tolerance=EXACT, elements=4, num_shards=1, index=0)
shard.value("more-shards-than-rows", one_column(4, 3), tolerance=EXACT, elements=1, num_shards=9, index=3)
shard.value("nothing-left", one_column(4, 3), tolerance=EXACT, elements=0, num_shards=9, index=5)


def batched_after(
    context: Context, rows: Any, *, elements: int, num_shards: int, index: int, size: int
) -> Callable[[], Any]:
    return context.compiled(lambda: read(context.function(Slices(rows), num_shards, index).batch(size), elements))


shard.value(
    "then-batched",
    one_column(64, 32),
    reference=lambda rows, *, num_shards, index, size, **_: these(
        [rows[index::num_shards][start : start + size] for start in range(0, len(rows[index::num_shards]), size)]
    ),
    prepare=batched_after,
    tolerance=EXACT,
    elements=3,
    num_shards=2,
    index=1,
    size=12,
)
shard.value(
    "of-a-shard",
    one_column(24, 3),
    reference=lambda rows, **_: these(rows[1::2][2::3]),
    prepare=lambda context, rows, *, elements: context.compiled(
        lambda: read(context.function(context.function(Slices(rows), 2, 1), 3, 2), elements)
    ),
    tolerance=EXACT,
    elements=4,
)
shard.value(
    "endless",
    lambda inputs: [inputs.integers(3)],
    dtype="int64",
    reference=lambda rows, *, elements: these(np.tile(rows, elements)[1::2][:elements], more=True),
    prepare=lambda context, rows, *, elements: context.compiled(
        lambda: read(context.function(Slices(rows).repeat(), 2, 1), elements)
    ),
    elements=7,
)


def counted(context: Context, rows: Any, *, num_shards: int) -> Callable[[], Any]:
    return context.compiled(
        lambda: [context.function(Slices(rows), num_shards, index).cardinality() for index in range(num_shards)]
    )


shard.value(
    "cardinality",
    one_column(11, 2),
    reference=lambda rows, *, num_shards: [np.asarray(len(rows[index::num_shards])) for index in range(num_shards)],
    prepare=counted,
    num_shards=4,
)
shard.behaviour(
    "refuses-no-such-shard",
    lambda inputs: [],
    expect(*["InvalidArgumentError"] * 4),
    prepare=refused(
        lambda context: context.function(tf.data.Dataset.range(4), 2, 2),
        lambda context: context.function(tf.data.Dataset.range(4), -2, 0),
        lambda context: context.function(tf.data.Dataset.range(4), 0, 0),
        lambda context: context.function(tf.data.Dataset.range(4), 2, -1),
    ),
    refuses=True,
)
shard.value(
    "nan-and-infinities",
    lambda inputs: [np.array([[np.nan, 1.0], [2.0, 3.0], [np.inf, -np.inf], [0.5, np.nan]])],
    elements=2,
    num_shards=2,
    index=0,
)


def listed(context: Context, *members: Any, elements: int) -> Callable[[], Any]:
    return context.compiled(lambda: read(context.function(list(members)), elements))


from_list = Function("tf.data.experimental.from_list", lambda *members, **_: these(members), listed)


def several(count: int, *shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: [inputs.normal(*shape) for _ in range(count)]


from_list.value("float32-16-of-64x128", several(16, 64, 128), tolerance=EXACT, elements=16)
from_list.value("float64", several(3, 4, 5), dtype="float64", tolerance=EXACT, elements=3)
from_list.value("float16", several(3, 7), dtype="float16", tolerance=EXACT, elements=3)
from_list.value("bfloat16", several(3, 7), dtype="bfloat16", tolerance=EXACT, elements=3)
from_list.value(
    "int32", lambda inputs: [inputs.integers(6, dtype="int32") for _ in range(4)], dtype="int32", elements=4
)
from_list.value("bool", lambda inputs: [inputs.booleans(6) for _ in range(4)], dtype="bool", elements=4)
from_list.value("one-member", several(1, 3), tolerance=EXACT, elements=1)
from_list.value(
    "other-shapes", lambda inputs: [inputs.normal(length) for length in (3, 0, 5)], tolerance=EXACT, elements=3
)
from_list.value("scalars", several(5), tolerance=EXACT, elements=5)
from_list.value(
    "tuples-and-dictionaries",
    lambda inputs: [(inputs.normal(2), {"label": inputs.integers(3)}) for _ in range(3)],
    tolerance=EXACT,
    elements=3,
)
from_list.value(
    "strings",
    lambda inputs: ["bay", "cape", "reef"],
    reference=lambda *names, **_: these([Expected(np.asarray(name.encode()), "string") for name in names]),
    elements=3,
)
from_list.value(
    "mapped-and-batched",
    several(6, 3, 4),
    reference=lambda *members, elements: these(
        [np.stack(members[start : start + 4]) * 2 for start in range(0, len(members), 4)]
    ),
    prepare=lambda context, *members, elements: context.compiled(
        lambda: read(context.function(list(members)).map(lambda element: element * 2).batch(4), elements)
    ),
    elements=2,
)
from_list.behaviour(
    "refuses-nothing-tuples-and-unlike-members",
    lambda inputs: [],
    expect("ValueError", "ValueError", "ValueError"),
    prepare=refused(
        lambda context: context.function([]),
        lambda context: context.function((1.0, 2.0)),
        lambda context: context.function([(1.0, 2.0), (1.0, 2.0, 3.0)]),
    ),
    refuses=True,
)


FUNCTIONS: list[Function] = [shard, from_list]
