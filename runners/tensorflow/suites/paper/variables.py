"""Cases of ``tf.Variable``: created, read, assigned, and watched by a tape.

A compiled program cannot create a variable. So the variable is created before, and only the step that reads and writes
it is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs, Prepare
from runners.tensorflow.placement.sessions import fetched
from runners.tensorflow.suites.paper.graphing import (
    compiled,
    initialised,
    matching,
    own_graph,
    refusal,
)

Array = np.ndarray[Any, Any]

variable = Function("tf.Variable")
GOES_ON = "the variable holds what the last call assigned"


def created(context: Context, x: Any, **options: Any) -> Callable[[], Any]:
    return lambda: context.function(x, **options)


def unchanged(x: Array) -> Array:
    return x


for kind in ("float32", "float64", "float16", "bfloat16", "complex64"):
    variable.value(
        f"{kind}-created-128x128",
        lambda inputs: [inputs.normal(128, 128)],
        dtype=kind,
        reference=unchanged,
        prepare=created,
    )
variable.value(
    "int32-created", lambda inputs: [inputs.integers(9, 4, dtype="int32")], reference=unchanged, prepare=created
)
variable.value("int64-created", lambda inputs: [inputs.integers(9, 4)], reference=unchanged, prepare=created)
variable.value("bool-created", lambda inputs: [inputs.booleans(9, 4)], reference=unchanged, prepare=created)
variable.value("no-elements", lambda inputs: [inputs.normal(0, 3)], reference=unchanged, prepare=created)
variable.value(
    "dtype-given",
    lambda inputs: [[[1, 2], [3, 4]]],
    reference=lambda x: np.array(x, "float64"),
    prepare=lambda context, x: lambda: context.function(x, dtype=context.dtype),
    dtype="float16",
)
variable.value(
    "initial-value-called",
    lambda inputs: [inputs.normal(5, 4)],
    reference=lambda x: 2 * x,
    prepare=lambda context, x: lambda: context.function(lambda: 2 * x),
)


def stepping(step: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for steps of a variable. ``step(variable, *others)`` continues from the previous call. It
    returns the step's result, and the variable."""

    def prepare(context: Context, x: Any, *others: Any) -> Callable[[], Any]:
        held = context.function(x)
        stepped = context.compiled(tf.autograph.experimental.do_not_convert(lambda: step(held, *others)))
        return lambda: [stepped(), held]

    return prepare


def steps(
    name: str,
    step: Callable[..., Any],
    arguments: Callable[[Inputs], Any],
    reference: Callable[..., Any],
    dtype: str = "float32",
    unrepeatable: str | None = None,
) -> None:
    variable.value(name, arguments, reference=reference, prepare=stepping(step), dtype=dtype, unrepeatable=unrepeatable)


def pair(*shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: [inputs.normal(*shape), inputs.normal(*shape)]


def read_twice(held: Any, y: Any) -> Any:
    """Read a variable before and after an assignment. The first value must not change."""
    before = held.read_value()
    held.assign(y)
    return [before, held.read_value()]


def parts_assigned(held: Any, y: Any) -> Any:
    held[1:3, ::2].assign(y)
    return held + 0.0


def parts_reference(x: Array, y: Array) -> Any:
    changed = x.copy()
    changed[1:3, ::2] = y
    return [changed, changed]


def rows_added(held: Any, rows: Any) -> Any:
    held.scatter_add(tf.IndexedSlices(rows, tf.constant([4, 0, 4])))
    return held.read_value()


def rows_reference(x: Array, rows: Array) -> Any:
    changed = x.copy()
    np.add.at(changed, [4, 0, 4], rows)
    return [changed, changed]


def slopes(held: Any, y: Any) -> Any:
    """Compute a gradient. A tape watches trainable variables automatically."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(held * held * y)
    return tape.gradient(loss, held)


steps(
    "added-256x256",
    lambda held, y: held.assign_add(y).read_value(),
    pair(256, 256),
    lambda x, y: [x + y] * 2,
    unrepeatable=GOES_ON,
)
steps("assigned", read_twice, pair(8, 5), lambda x, y: [[x, y], y], unrepeatable=GOES_ON)
steps(
    "subtracted-float64",
    lambda held, y: held.assign_sub(y).read_value(),
    pair(7),
    lambda x, y: [x - y] * 2,
    "float64",
    unrepeatable=GOES_ON,
)
steps("matmul-with-it", lambda held, y: tf.matmul(held, y), pair(9, 9), lambda x, y: [x @ y, x])
steps(
    "operators",
    lambda held, y: [held + y, y - held, -held, held > y, held[2]],
    pair(6, 5),
    lambda x, y: [[x + y, y - x, -x, x > y, x[2]], x],
)
steps("part-assigned", parts_assigned, lambda inputs: [inputs.normal(5, 6), inputs.normal(2, 3)], parts_reference)
steps(
    "rows-added",
    rows_added,
    lambda inputs: [inputs.normal(6, 4), inputs.normal(3, 4)],
    rows_reference,
    unrepeatable=GOES_ON,
)
steps(
    "rows-gathered",
    lambda held: tf.gather(held, [3, 0, 3]),
    lambda inputs: [inputs.normal(6, 4)],
    lambda x: [x[[3, 0, 3]], x],
)
steps("gradient", slopes, pair(12, 7), lambda x, y: [2 * x * y, x])
steps(
    "int64-counted",
    lambda held: held.assign_add(tf.ones_like(held)).read_value(),
    lambda inputs: [inputs.integers(5)],
    lambda x: [x + 1] * 2,
    "int64",
    unrepeatable=GOES_ON,
)


def of_any_length(context: Context, x: Any, longer: Any) -> Callable[[], Any]:
    def call() -> Any:
        held = context.function(x, shape=tf.TensorShape([None, x.shape[1]]))
        first = held.read_value()
        held.assign(longer)
        return [first, held.read_value()]

    return call


variable.value(
    "shape-may-change",
    lambda inputs: [inputs.normal(2, 4), inputs.normal(5, 4)],
    reference=lambda x, longer: [x, longer],
    prepare=of_any_length,
)


def kept_by_a_function(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare two calls of a ``tf.function`` that adds to a variable."""

    def call() -> Any:
        total = context.function(tf.zeros_like(x))
        add = tf.function(lambda: total.assign_add(x).read_value(), autograph=False)
        return [add(), add(), total]

    return call


variable.value(
    "state-of-a-function",
    lambda inputs: [inputs.normal(16, 4)],
    reference=lambda x: [x, 2 * x, 2 * x],
    prepare=kept_by_a_function,
)


def run_in_a_graph(context: Context, x: Any) -> Callable[[], Any]:
    with own_graph(context) as graph:
        held = context.function(x.numpy())
        doubled = compiled(context, lambda: held.read_value() * 2)
    session = initialised(graph)
    return lambda: fetched(session.run(doubled), doubled)


variable.behaviour(
    "in-a-graph", lambda inputs: [inputs.normal(9, 5)], matching(lambda x: 2 * x), prepare=run_in_a_graph
)


def described(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        held = context.function(x, trainable=False, name="held")
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(held * 2)
        attributes = [held.name, held.trainable, held.shape.as_list(), held.dtype.name, tape.gradient(loss, held)]
        errors = [
            refusal(lambda: held.assign(x[:2])),
            refusal(lambda: held.assign(tf.cast(x, tf.float64))),
            refusal(lambda: context.function()),
        ]
        return attributes, errors, held

    return call


variable.behaviour(
    "not-trainable-and-errors",
    lambda inputs: [inputs.normal(4, 3)],
    matching(
        lambda x: (
            ["held:0", False, [4, 3], "float32", None],
            ["ValueError", "ValueError", "ValueError"],
            x,
        )
    ),
    prepare=described,
)
steps(
    "nan-read-and-assigned",
    read_twice,
    lambda inputs: [np.array([np.nan, np.inf, -np.inf, 1.0]), np.array([1.0, np.nan, 2.0, -np.inf])],
    lambda x, y: [[x, y], y],
    unrepeatable=GOES_ON,
)

FUNCTIONS: list[Function] = [variable]
