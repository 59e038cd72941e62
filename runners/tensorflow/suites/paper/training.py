"""Cases of tools for training: moving averages and the global step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.tensorflow.placement.sessions import fetched
from runners.tensorflow.suites.paper.graphing import (
    matching,
    new_variable,
    own_graph,
    refusal,
    session_of,
    stand_ins,
    v1,
)

Array = np.ndarray[Any, Any]

average = Function("tf.train.ExponentialMovingAverage")


def averaging(context: Context, x: Any, *later: Any, decay: float, **options: Any) -> Callable[[], Any]:
    """Prepare the average of a variable after each assignment. The variable begins with ``x``.

    The first ``apply`` creates the shadow variables, so it is not compiled and not watched.
    """

    def call() -> Any:
        held = tf.Variable(x)
        moving = context.function(decay, **options)
        with context.surroundings():
            moving.apply([held])

        def follow() -> Any:
            averages = []
            for value in later:
                held.assign(value)
                moving.apply([held])
                averages.append(tf.identity(moving.average(held)))
            return averages

        followed = context.compiled(tf.autograph.experimental.do_not_convert(follow))()
        return [followed, held]

    return call


def averages(x: Array, *later: Array, decay: float, num_updates: Any = None, **_: Any) -> Any:
    """Compute the averages. They begin with the first value. With ``num_updates`` the decay is lower at the
    beginning."""
    used = decay if num_updates is None else min(decay, (1 + num_updates) / (10 + num_updates))
    current, found = x, []
    for value in later:
        current = used * current + (1 - used) * value
        found.append(current)
    return [found, later[-1]]


def series(count: int, *shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: [inputs.normal(*shape) for _ in range(count)]


for name, shape, dtype in (
    ("float32-128x128", (128, 128), "float32"),
    ("float64", (5, 4), "float64"),
    ("float16", (5, 4), "float16"),
    ("bfloat16", (5, 4), "bfloat16"),
    ("scalar", (), "float32"),
    ("no-elements", (0, 3), "float32"),
):
    average.value(name, series(4, *shape), dtype=dtype, reference=averages, prepare=averaging, decay=0.5)
average.value("slow-decay", series(4, 6, 3), reference=averages, prepare=averaging, decay=0.9375)
average.value("quick-decay", series(3, 6), reference=averages, prepare=averaging, decay=0.125)
average.value("decay-one-stays", series(3, 6), reference=averages, prepare=averaging, decay=1.0)
average.value("few-updates-decay-less", series(3, 6), reference=averages, prepare=averaging, decay=0.99, num_updates=2)
average.value(
    "many-updates-decay-in-full", series(3, 6), reference=averages, prepare=averaging, decay=0.75, num_updates=10**6
)


def in_a_graph(context: Context, x: Any, *later: Any, decay: float, zero_debias: bool = False) -> Callable[[], Any]:
    """Prepare the average after each update in a session, read from the shadow variable that a checkpoint restores."""
    with own_graph(context) as graph:
        held = new_variable("held", tf.constant(x.numpy()))
        given = v1.placeholder(x.dtype, x.shape)
        moving = context.function(decay, zero_debias=zero_debias)
        with tf.control_dependencies([held.assign(given)]):
            update = moving.apply([held])
        shadow = moving.average(held)
        read = tf.identity(shadow.read_value())
        start = v1.global_variables_initializer()
    session, values = session_of(graph), [tensor.numpy() for tensor in later]

    def call() -> Any:
        session.run(start)
        found = []
        for value in values:
            session.run(update, {given: value})
            found.append(fetched(session.run(read), read))
        return found

    return call


def debiased(x: Array, *later: Array, decay: float, **_: Any) -> Any:
    """Compute the debiased averages. They begin with zero, and are divided by the sum of the weights so far."""
    current, found = np.zeros_like(x), []
    for step, value in enumerate(later, 1):
        current = decay * current + (1 - decay) * value
        found.append(current / (1 - decay**step))
    return found


average.value(
    "in-a-session",
    series(4, 16, 8),
    reference=lambda *values, decay: averages(*values, decay=decay)[0],
    prepare=in_a_graph,
    unrepeatable="the session keeps the average that the last call left",
    decay=0.75,
)
average.value(
    "variables-need-no-debiasing",
    series(4, 5, 3),
    reference=lambda *values, decay, **_: averages(*values, decay=decay)[0],
    prepare=in_a_graph,
    unrepeatable="the session keeps the average that the last call left",
    decay=0.75,
    zero_debias=True,
)


def of_tensors(context: Context, x: Any, y: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the average of a tensor that is not a variable. It begins with zero."""
    with own_graph(context) as graph:
        start = v1.placeholder(x.dtype, x.shape)
        product = start * 2
        moving = context.function(0.75, **options)
        update = moving.apply([product])
        read = tf.identity(moving.average(product).read_value())
        first = v1.global_variables_initializer()
    session, values = session_of(graph), [x.numpy(), y.numpy()]

    def call() -> Any:
        session.run(first)
        found = []
        for value in values:
            session.run(update, {start: value})
            found.append(fetched(session.run(read), read))
        return found

    return call


average.value(
    "of-a-tensor",
    series(2, 7),
    reference=lambda x, y: averages(np.zeros_like(x), 2 * x, 2 * y, decay=0.75)[0],
    prepare=of_tensors,
)
average.value(
    "of-a-tensor-debiased",
    series(2, 7),
    reference=lambda x, y, **_: debiased(x, 2 * x, 2 * y, decay=0.75),
    prepare=of_tensors,
    zero_debias=True,
)


def named(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with own_graph(context):
            with v1.variable_scope("layer"):
                held = new_variable("weights", tf.ones_initializer(), 3)
                fixed = new_variable("fixed", tf.ones_initializer(), 3, trainable=False)
            moving = context.function(0.5, name="Smoothed")
            unknown = moving.average(held)
            moving.apply()
            restored = {key: variable.op.name for key, variable in moving.variables_to_restore().items()}
            shadows = [variable.op.name for variable in v1.moving_average_variables()]
            names = [moving.average_name(held), moving.average(held).op.name, moving.average(fixed), unknown]
            whole = new_variable("whole", tf.constant([1, 2]))
            wrong = refusal(lambda: moving.apply([whole]))
        return names, restored, shadows, wrong, x * 2

    return call


average.behaviour(
    "names-and-errors",
    series(1, 4),
    matching(
        lambda x: (
            ["layer/weights/Smoothed", "layer/weights/Smoothed", None, None],
            {"layer/weights/Smoothed": "layer/weights", "layer/fixed": "layer/fixed"},
            ["layer/weights"],
            "TypeError",
            2 * x,
        )
    ),
    prepare=named,
)
average.value(
    "nan-stays-in-its-element",
    lambda inputs: [inputs.normal(4), np.array([np.nan, 1.0, np.nan, 2.0]), inputs.normal(4)],
    reference=averages,
    prepare=averaging,
    decay=0.5,
)


global_step = Function("tf.compat.v1.train.get_global_step")


def counting(context: Context, x: Any, *, steps: int) -> Callable[[], Any]:
    """Prepare an optimizer that counts its steps in the global step."""
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([x])
        v1.train.create_global_step()
        weights = new_variable("weights", tf.zeros_initializer(), *x.shape)
        loss = tf.reduce_sum((weights - start) ** 2)
        found = context.function()
        update = v1.train.GradientDescentOptimizer(0.25).minimize(loss, global_step=found)
        reads = [tf.identity(found), weights.read_value()]
        first = v1.global_variables_initializer()
    session = session_of(graph)

    def call() -> Any:
        session.run(first)
        for _ in range(steps):
            session.run(update, feeds)
        return fetched(session.run(reads), reads)

    return call


def counted(x: Array, *, steps: int) -> Any:
    """Compute the variable after the steps. Each step halves the distance to the minimum."""
    return [np.asarray(steps), x * (1 - 0.5**steps)]


for count in (0, 1, 5):
    global_step.behaviour(
        f"{count}-steps", lambda inputs: [inputs.normal(64, 32)], matching(counted), prepare=counting, steps=count
    )


def looked_for(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare the global step: None without one, the existing one by its name, or that of another graph. One that is
    not an integer scalar raises an error."""

    def call() -> Any:
        graph = tf.Graph()
        with own_graph(context):
            none = context.function()
        with graph.as_default(), tf.device(context.device):
            created = v1.train.get_or_create_global_step()
            attributes = [created.op.name, created.dtype.name, created.shape.as_list(), context.function() is created]
            again = refusal(v1.train.create_global_step)
        with own_graph(context):
            elsewhere = [context.function(), context.function(graph) is created]
            plain = v1.placeholder_with_default(tf.constant(41, tf.int64), [], name="global_step")
            elsewhere.append(context.function() is plain)
        with own_graph(context):
            v1.placeholder(tf.float32, [], name="global_step")
            wrong = refusal(context.function)
        return none, attributes, again, elsewhere, wrong, x * 2

    return call


global_step.behaviour(
    "looked-for",
    lambda inputs: [inputs.normal(3)],
    matching(
        lambda x: (
            None,
            ["global_step", "int64", [], True],
            "ValueError",
            [None, True, True],
            "TypeError",
            2 * x,
        )
    ),
    prepare=looked_for,
)


def incremented(context: Context, x: Any) -> Callable[[], Any]:
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([x])
        v1.train.create_global_step()
        scaled = start * tf.cast(context.function(), x.dtype)
        more = v1.assign_add(context.function(), 3)
        first = v1.global_variables_initializer()
    session = session_of(graph)

    def call() -> Any:
        session.run(first)
        return fetched([session.run(more), session.run(scaled, feeds), session.run(more)], [more, scaled, more])

    return call


global_step.behaviour(
    "in-a-computation",
    lambda inputs: [inputs.normal(9, 4)],
    matching(lambda x: [np.asarray(3), 3 * x, np.asarray(6)]),
    prepare=incremented,
)


FUNCTIONS: list[Function] = [average, global_step]
