"""Cases of arrays in structures: ``TensorArray.concat``, ``nest.map_structure`` and similar functions."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Prepare
from runners.tensorflow.suites.paper.graphing import in_session, matching, refusal

Array = np.ndarray[Any, Any]

concat = Function("tf.TensorArray.concat")


def joining(fill: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for an array of pieces. ``fill(*tensors)`` makes the array as part of the timed call."""

    def prepare(context: Context, *arguments: Any) -> Callable[[], Any]:
        return context.compiled(tf.autograph.experimental.do_not_convert(lambda: context.function(fill(*arguments))))

    return prepare


def unstacked(x: Any) -> Any:
    return tf.TensorArray(x.dtype, x.shape[0]).unstack(x)


def written(*pieces: Any) -> Any:
    held = tf.TensorArray(pieces[0].dtype, len(pieces), infer_shape=False)
    for place, piece in enumerate(pieces):
        held = held.write(place, piece)
    return held


def flattened(x: Array) -> Array:
    return x.reshape(-1, *x.shape[2:])


def joined(*pieces: Array) -> Array:
    return np.concatenate(pieces)


for kind in ("float32", "float64", "float16", "bfloat16", "complex64"):
    concat.value(
        f"{kind}-64-pieces",
        lambda inputs: [inputs.normal(64, 4, 32)],
        dtype=kind,
        reference=flattened,
        prepare=joining(unstacked),
    )
concat.value(
    "int32", lambda inputs: [inputs.integers(5, 3, dtype="int32")], reference=flattened, prepare=joining(unstacked)
)
concat.value("bool", lambda inputs: [inputs.booleans(5, 3)], reference=flattened, prepare=joining(unstacked))
concat.value("one-piece", lambda inputs: [inputs.normal(1, 6)], reference=flattened, prepare=joining(unstacked))
concat.value("no-elements", lambda inputs: [inputs.normal(3, 0, 4)], reference=flattened, prepare=joining(unstacked))
concat.value(
    "lengths-differ",
    lambda inputs: [inputs.normal(2, 4), inputs.normal(5, 4), inputs.normal(0, 4), inputs.normal(1, 4)],
    reference=joined,
    prepare=joining(written),
)


def squares_in_a_loop(x: Any, **options: Any) -> Any:
    """Fill an array of tensors in a loop of the graph."""
    held = tf.TensorArray(x.dtype, element_shape=[2, 3], **options)
    stop = tf.shape(x)[0]
    return tf.while_loop(
        lambda place, _: place < stop, lambda place, held: (place + 1, held.write(place, x[place] ** 2)), (0, held)
    )[1]


def in_a_function(context: Context, x: Any, **options: Any) -> Callable[[], Any]:
    call = tf.function(lambda: context.function(squares_in_a_loop(x, **options)), autograph=False)
    return context.compiled(call)


concat.value(
    "written-in-a-loop",
    lambda inputs: [inputs.normal(6, 2, 3)],
    reference=lambda x, **_: flattened(x**2),
    prepare=in_a_function,
    size=6,
)
concat.value(
    "grown-in-a-loop",
    lambda inputs: [inputs.normal(6, 2, 3)],
    reference=lambda x, **_: flattened(x**2),
    prepare=in_a_function,
    size=0,
    dynamic_size=True,
)
concat.value(
    "in-a-session",
    lambda inputs: [inputs.normal(7, 2, 3)],
    reference=flattened,
    prepare=in_session(lambda context, x: context.compiled(lambda: context.function(unstacked(x)))()),
)


def with_gradient(context: Context, x: Any, upstream: Any) -> Callable[[], Any]:
    def call() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = context.function(unstacked(x * x))
        return [result, tape.gradient(result, x, upstream)]

    return context.compiled(call)


concat.value(
    "gradient",
    lambda inputs: [inputs.normal(5, 3, 4), inputs.normal(15, 4)],
    reference=lambda x, upstream: [flattened(x * x), 2 * x * upstream.reshape(x.shape)],
    prepare=with_gradient,
)
concat.value(
    "nan-and-infinities",
    lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]])],
    reference=flattened,
    prepare=joining(unstacked),
)

Point = namedtuple("Point", "x y")

map_structure = Function(
    "tf.nest.map_structure",
)


def mapping(change: Callable[..., Any], build: Callable[..., Any], *others: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` that applies ``change`` to the structures that ``build`` and ``others`` create from the
    arrays."""

    def prepare(context: Context, *arrays: Any) -> Callable[[], Any]:
        structures = [builder(*arrays) for builder in (build, *others)]
        return lambda: context.function(change, *structures)

    return prepare


def nested(x: Any, y: Any) -> Any:
    return {"b": [x, (y, {"deep": x})], "a": Point(y, x)}


map_structure.value(
    "nested-64x64",
    lambda inputs: [inputs.normal(64, 64), inputs.normal(32)],
    reference=lambda x, y: {"b": [2 * x, (2 * y, {"deep": 2 * x})], "a": (2 * y, 2 * x)},
    prepare=mapping(lambda leaf: leaf * 2, nested),
)
map_structure.value(
    "two-structures",
    lambda inputs: [inputs.normal(5), inputs.normal(5)],
    reference=lambda x, y: [x - y, {"k": y - x}],
    prepare=mapping(lambda one, other: one - other, lambda x, y: [x, {"k": y}], lambda x, y: [y, {"k": x}]),
)
map_structure.value(
    "one-array-is-a-structure",
    lambda inputs: [inputs.normal(4, 3)],
    reference=lambda x: x + 1,
    prepare=mapping(lambda leaf: leaf + 1, lambda x: x),
)
map_structure.value(
    "plain-values",
    lambda inputs: [[1, 2], 3],
    reference=lambda x, y: {"numbers": [1, 4], "more": (9,)},
    prepare=mapping(lambda leaf: leaf * leaf, lambda x, y: {"numbers": x, "more": (y,)}),
)


def types_and_errors(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        def same(*structures: Any, **options: Any) -> Any:
            return context.function(lambda *members: members[0], *structures, **options)

        kept = same(Point(x, (x,)))
        order: list[int] = []
        context.function(order.append, {"b": 2, "a": 1, "c": [3]})
        return (
            [type(kept).__name__, type(kept.y).__name__, kept.x is x],
            order,
            same([]),
            same(None),
            [
                refusal(lambda: same([x], [x, x])),
                refusal(lambda: same([x], (x,))),
                refusal(lambda: same([x], (x,), check_types=False)),
                refusal(lambda: context.function("no function", [x])),
            ],
        )

    return call


map_structure.behaviour(
    "types-order-and-errors",
    lambda inputs: [inputs.normal(2)],
    matching(
        lambda x: (
            ["Point", "tuple", True],
            # A dictionary's members are in the order of its keys.
            [1, 2, 3],
            [],
            None,
            ["ValueError", "TypeError", "nothing", "TypeError"],
        )
    ),
    prepare=types_and_errors,
)


def up_to_of(name: str) -> Function:
    """Chart the same cases under the old name and under the current name."""
    function = Function(name)
    function.value(
        "lists-as-members",
        lambda inputs: [inputs.normal(64, 32), inputs.normal(8)],
        reference=lambda x, y: {"one": x, "both": 3 * y},
        prepare=lambda context, x, y: (
            lambda: context.function(
                {"one": None, "both": None}, lambda members: members[-1] * len(members), {"one": [x], "both": [x, x, y]}
            )
        ),
    )
    function.value(
        "two-structures",
        lambda inputs: [inputs.normal(6), inputs.normal(6)],
        reference=lambda x, y: [(x + y) * y, (y - x) * x],
        prepare=lambda context, x, y: (
            lambda: context.function(
                [0, 0], lambda value, more: (value + more["add"]) * more["by"], [x, y], _additions(x, y)
            )
        ),
    )
    return function


def _additions(x: Any, y: Any) -> Any:
    return [{"add": y, "by": y}, {"add": -x, "by": x}]


up_to_of_old = up_to_of("tf.contrib.framework.nest.map_structure_up_to")
up_to = up_to_of("tf.__internal__.nest.map_structure_up_to")


def shallow_errors(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        def counted(shallow: Any, structure: Any) -> Any:
            return context.function(shallow, lambda member: len(member), structure)

        return (
            counted([None, (None,)], [[x, x], ([x],)]),
            [
                refusal(lambda: counted([None], [[x], [x]])),
                refusal(lambda: counted([None], x)),
                refusal(lambda: counted([None], ([x],))),
                refusal(lambda: counted({"a": None}, {"b": [x]})),
            ],
        )

    return call


up_to.behaviour(
    "depth-and-errors",
    lambda inputs: [inputs.normal(2)],
    matching(lambda x: ([2, (1,)], ["ValueError", "TypeError", "TypeError", "ValueError"])),
    prepare=shallow_errors,
)
up_to.value(
    "depth-zero-takes-all",
    lambda inputs: [inputs.normal(5), inputs.normal(5)],
    reference=lambda x, y: x - y,
    prepare=lambda context, x, y: (
        lambda: context.function(None, lambda member: member["a"] - member["b"], {"a": x, "b": y})
    ),
)

FUNCTIONS: list[Function] = [concat, map_structure, up_to_of_old, up_to]
