"""Handwritten cases of TensorFlow 1 graphs, which a session runs: variables, training steps, summaries."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Prepare
from runners.tensorflow.placement.sessions import fetched, unsoftened
from runners.tensorflow.suites.library.by_hand import TAGS, Array, chart_in, one_value
from runners.tensorflow.suites.paper.graphing import (
    in_session,
    initialised,
    new_variable,
    own_graph,
    session_of,
    stand_ins,
    v1,
)

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def doubled(values: Array) -> Array:
    return 2 * values


def of_variable(context: Context, values: Any) -> Any:
    return 2 * context.function("held", initializer=values)


def of_shared_variable(context: Context, values: Any) -> Any:
    """Get a variable twice by its name. Both are the same variable, so a value that is assigned to the first is read
    from the second."""

    def held() -> Any:
        with v1.variable_scope("layer", reuse=v1.AUTO_REUSE):
            return context.function("held", values.shape, initializer=v1.zeros_initializer())

    with tf.control_dependencies([v1.assign(held(), values)]):
        return 2 * held().read_value()


get_variable = charted("tf.compat.v1.get_variable", doubled)
for case_name, build in (("float32-3x4", of_variable), ("float32-shared", of_shared_variable)):
    get_variable.value(case_name, lambda inputs: [inputs.normal(3, 4)], prepare=in_session(build), tags=TAGS)


def held_at_once(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare the read of a TensorFlow 1 variable outside of any graph."""
    held = context.function(values)
    return context.compiled(lambda: 2 * held)


one_value(FUNCTIONS, "tf.compat.v1.Variable", doubled, held_at_once)


def assigned(context: Context, *arrays: Any) -> Callable[[], Any]:
    """Prepare a call that updates a variable, which begins with the first array. It returns the result and the
    variable's new value."""
    held = tf.Variable(arrays[0])

    def call() -> Any:
        held.assign(arrays[0])
        return [tf.identity(context.function(held, *arrays[1:])), held.read_value()]

    return context.compiled(call)


def twice(change: Callable[..., Array]) -> Callable[..., Any]:
    return lambda *arrays: [change(*arrays), change(*arrays)]


def updated(held: Array, places: Array, rows: Array) -> Array:
    new = held.copy()
    new[places] = rows
    return new


def replaced(_: Array, values: Array) -> Array:
    return values


CHANGES: dict[str, Callable[..., Any]] = {"tf.compat.v1.assign": replaced, "tf.compat.v1.assign_add": np.add}
for name, change in CHANGES.items():
    charted(name, twice(change), assigned).value(
        "float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS
    )
charted("tf.compat.v1.scatter_update", twice(updated), assigned).value(
    "float32-rows",
    lambda inputs: [inputs.normal(4, 3), np.array([3, 0]), inputs.normal(2, 3)],
    tags=TAGS,
)


def made(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the sum of the case's array and an array from the initializer."""
    return context.compiled(lambda: values + context.function(**options)(values.shape, values.dtype))


for name, number, options in (
    ("tf.zeros_initializer", 0, {}),
    ("tf.constant_initializer", 0.25, {"value": 0.25}),
    ("tf.compat.v1.zeros_initializer", 0, {}),
    ("tf.compat.v1.ones_initializer", 1, {}),
    ("tf.compat.v1.constant_initializer", 0.25, {"value": 0.25}),
):
    one_value(FUNCTIONS, name, lambda values, number=number, **_: values + number, made, **options)


def initialising(make: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for an initialization. ``make(values)`` makes a variable, and the operation under test
    initializes it."""

    def prepare(context: Context, values: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            (start,), feeds = stand_ins([values])
            held = make(start)
            read, first = 2 * held.read_value(), context.function()
        session = session_of(graph)

        def call() -> Any:
            session.run(first, feeds)
            return fetched(session.run(read), read)

        return call

    return prepare


def local_variable(values: Any) -> Any:
    return new_variable("held", values, collections=[v1.GraphKeys.LOCAL_VARIABLES])


for name, make in {
    "tf.compat.v1.local_variables_initializer": local_variable,
    "tf.compat.v1.initializers.local_variables": local_variable,
    "tf.compat.v1.initialize_all_variables": lambda values: new_variable("held", values),
}.items():
    one_value(FUNCTIONS, name, doubled, initialising(make))


def some_initialised(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare two variables. The function initializes only the first one."""
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([values])
        held, other = (new_variable(name, start) for name in ("held", "other"))
        first, read = context.function([held]), 2 * held.read_value()
        ready = v1.is_variable_initialized(other)
    session = session_of(graph)

    def call() -> Any:
        session.run(first, feeds)
        return [fetched(session.run(read), read), fetched(session.run(ready), ready)]

    return call


for name in ("tf.compat.v1.variables_initializer", "tf.compat.v1.initializers.variables"):
    one_value(FUNCTIONS, name, lambda values: [2 * values, np.asarray(False)], some_initialised)


def step_counted(context: Context, values: Any) -> Any:
    """Get the global step of the graph, increment it, and get it again. Both are the same variable."""
    step = context.function()
    with tf.control_dependencies([v1.assign_add(step, 3)]):
        return [tf.cast(tf.identity(context.function().read_value()), values.dtype) * values]


def run_once(build: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` like ``in_session``, but initialize the variables before every run."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            tensors, feeds = stand_ins(arguments)
            fetches = build(context, *tensors, **options)
            first = [v1.global_variables_initializer(), v1.local_variables_initializer()]
        session = session_of(graph)

        def call() -> Any:
            session.run(first, feeds)
            return fetched(session.run(fetches, feeds), fetches)

        return call

    return prepare


one_value(
    FUNCTIONS,
    "tf.compat.v1.train.get_or_create_global_step",
    lambda values: [3 * values],
    run_once(step_counted),
)


def two_steps(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a variable after two steps of an optimizer that minimizes the sum of its squares."""
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([values])
        held = new_variable("held", start)
        step = context.function(**options).minimize(tf.reduce_sum(held**2))
        first, read = v1.global_variables_initializer(), held.read_value()
    session = session_of(graph)

    def call() -> Any:
        session.run(first, feeds)
        session.run(step)
        session.run(step)
        return fetched(session.run(read), read)

    return call


def descended(values: Array, learning_rate: float) -> Array:
    return values * (1 - 2 * learning_rate) ** 2


def adam(values: Array, learning_rate: float) -> Array:
    """Compute Kingma and Ba's algorithm. As in TensorFlow's documentation, the bias correction is applied to the rate
    and not to the moments."""
    mean = squares = np.zeros_like(values)
    for step in (1, 2):
        gradient = 2 * values
        mean = 0.9 * mean + 0.1 * gradient
        squares = 0.999 * squares + 0.001 * gradient**2
        rate = learning_rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        values = values - rate * mean / (np.sqrt(squares) + 1e-8)
    return values


one_value(FUNCTIONS, "tf.compat.v1.train.GradientDescentOptimizer", descended, two_steps, learning_rate=0.125)
one_value(FUNCTIONS, "tf.compat.v1.train.AdamOptimizer", adam, two_steps, learning_rate=0.125)


def own_session(context: Context, values: Any) -> Callable[[], Any]:
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([values])
        result = tf.exp(start) * 2

    def call() -> Any:
        with context.function(graph=graph, config=unsoftened()) as session:
            return fetched(session.run(result, feeds), result)

    return call


one_value(FUNCTIONS, "tf.compat.v1.Session", lambda values: 2 * np.exp(values), own_session)
one_value(
    FUNCTIONS,
    "tf.compat.v1.gradients",
    lambda values: [3 * values**2],
    in_session(lambda context, values: context.function(tf.reduce_sum(values**3), [values])),
)


def averaged(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare the mean as the metric's update returns it, and as it is read afterwards."""
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([values])
        mean, update = context.function(start)
        first = v1.local_variables_initializer()
    session = session_of(graph)

    def call() -> Any:
        session.run(first)
        return [fetched(session.run(update, feeds), update), fetched(session.run(mean), mean)]

    return call


one_value(FUNCTIONS, "tf.compat.v1.metrics.mean", lambda values: [values.mean(), values.mean()], averaged)


def both_losses(context: Context, values: Any, labels: Any) -> Any:
    """Sum up all losses of the graph."""
    v1.losses.mean_squared_error(labels, values)
    v1.losses.absolute_difference(labels, values)
    return context.function()


charted(
    "tf.compat.v1.losses.get_total_loss",
    lambda values, labels: np.mean((values - labels) ** 2) + np.mean(abs(values - labels)),
    in_session(both_losses),
).value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS)


def saved(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a variable that is saved, set to zero, and restored."""
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([values])
        held = new_variable("held", start)
        cleared, read = v1.assign(held, tf.zeros_like(held)), held.read_value()
        saver = context.function([held])
    session = initialised(graph, feeds)

    def call() -> Any:
        with tempfile.TemporaryDirectory() as folder, graph.as_default():
            path = saver.save(session, f"{folder}/kept", write_meta_graph=False)
            session.run(cleared)
            saver.restore(session, path)
        return fetched(session.run(read), read)

    return call


one_value(FUNCTIONS, "tf.compat.v1.train.Saver", lambda values: values, saved)


def summarised(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a summary, which a session returns as bytes. It returns the name and the content of the only value."""
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([values])
        written = context.function("depth", start)
    session = session_of(graph)

    def call() -> Any:
        (value,) = v1.Summary.FromString(session.run(written, feeds)).value
        return [value.tag.partition("/")[0], _content(value)]

    return call


def _content(value: Any) -> Any:
    """Return a number; for a histogram the count, minimum, maximum and sum; for an image its pixels."""
    if value.HasField("histo"):
        return [value.histo.num, value.histo.min, value.histo.max, value.histo.sum]
    if value.HasField("image"):
        with tf.device("/device:CPU:0"):
            return tf.io.decode_png(value.image.encoded_image_string).numpy().tolist()
    return value.simple_value


charted("tf.compat.v1.summary.scalar", lambda value: ["depth", float(value)], summarised).value(
    "float32-number", lambda inputs: [np.asarray(inputs.rng.standard_normal())], tags=TAGS
)
charted(
    "tf.compat.v1.summary.histogram",
    lambda values: ["depth", [float(part) for part in (values.size, values.min(), values.max(), values.sum())]],
    summarised,
).value("float32-30", lambda inputs: [inputs.normal(30)], tags=TAGS)
charted("tf.compat.v1.summary.image", lambda values: ["depth", values[0].tolist()], summarised).value(
    "uint8-4x5",
    lambda inputs: [inputs.integers(1, 4, 5, 3, low=0, high=256, dtype="uint8")],
    dtype="uint8",
    tags=TAGS,
)
