"""Calls of ``tf.math.negative`` on ``tensorflow/xla`` with planted fallbacks, and honest calls without a fallback.

Each is a ``prepare`` function, which returns a call with right values, from arrays on the device. ``PLANTS`` has each
with the operation or read that the outcome must name.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Thread
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Prepare
from runners.tensorflow.suites.paper import graphing

Call = Callable[[], Any]
Round = Callable[[Any], Any]
"""A function that moves an array to the host and back, and returns the same values."""

POOL = ThreadPoolExecutor(1)
POOL.submit(int).result()


def compile_call(context: Context) -> Any:
    return tf.function(context.function, jit_compile=True)


def before(way: Round) -> Prepare:
    """The argument of the compiled function was on the host."""

    def prepare(context: Context, x: Any) -> Call:
        negative = compile_call(context)
        return lambda: negative(way(x))

    return prepare


def after(way: Round) -> Prepare:
    """The result of the compiled function goes to the host, and the returned array comes from there."""

    def prepare(context: Context, x: Any) -> Call:
        negative = compile_call(context)
        return lambda: way(negative(x))

    return prepare


def while_compiled(way: Round) -> Prepare:
    """The compiled function contains a constant that was on the host during tracing."""

    def prepare(context: Context, x: Any) -> Call:
        return context.compiled(lambda: context.function(way(x)))

    return prepare


def only(way: Round, calls: Callable[[int], bool]) -> Prepare:
    """Only the calls with these numbers use the host."""

    def prepare(context: Context, x: Any) -> Call:
        negative, calls_so_far = compile_call(context), [0]

        def call() -> Any:
            calls_so_far[0] += 1
            return negative(way(x) if calls(calls_so_far[0]) else x)

        return call

    return prepare


def in_thread(way: Round) -> Round:
    def run_in_thread(x: Any) -> Any:
        results: list[Any] = []
        thread = Thread(target=lambda: results.append(way(x)))
        thread.start()
        thread.join()
        return results[0]

    return run_in_thread


def in_old_thread(way: Round) -> Round:
    """Work in a thread that existed before the call."""
    return lambda x: POOL.submit(way, x).result()


def scalars(number: Callable[[Any], Any]) -> Round:
    return lambda x: tf.reshape(tf.constant([number(entry) for entry in tf.unstack(tf.reshape(x, [-1]))]), x.shape)


def to_numpy(x: Any) -> Any:
    return tf.constant(x.numpy())


def twice_negative(x: Any) -> Any:
    return tf.negative(tf.negative(x))


def on_tape(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        square = x * x / 2
    return tape.gradient(square, x)


def lift(x: Any) -> Any:
    """Run a function eagerly while another function is being traced."""
    with tf.init_scope():
        return twice_negative(x)


def in_plain_function(x: Any) -> Any:
    return tf.function(twice_negative)(x)


def in_nested_function(x: Any) -> Any:
    inner = tf.function(twice_negative)
    return tf.function(lambda given: inner(given))(x)


def in_branch(x: Any) -> Any:
    return tf.function(lambda given: tf.cond(tf.size(given) > 0, lambda: twice_negative(given), lambda: given))(x)


def by_data_set(x: Any) -> Any:
    return tf.stack(list(tf.data.Dataset.from_tensor_slices(x)))


def by_session(x: Any) -> Any:
    with tf.Graph().as_default() as graph:
        start = graphing.v1.placeholder(tf.float32, x.shape)
        end = tf.abs(start) * tf.sign(start)
    with graphing.v1.Session(graph=graph) as session:
        values = session.run(end, {start: x.numpy()})
    return tf.constant(values)


def by_numpy_function(x: Any) -> Any:
    return tf.ensure_shape(tf.numpy_function(lambda values: values, [x], tf.float32), x.shape)


NUMBERS = "host read of numbers that came back"

PLANTS: dict[str, tuple[Prepare, str]] = {
    "numpy before": (before(to_numpy), "host read by EagerTensor.numpy"),
    "numpy after": (after(to_numpy), "host read by EagerTensor.numpy"),
    "numpy while compiled": (while_compiled(to_numpy), "host read by EagerTensor.numpy"),
    "asarray before": (before(lambda x: tf.constant(np.asarray(x))), "host read by EagerTensor.__buffer__"),
    "asarray after": (after(lambda x: tf.constant(np.asarray(x))), "host read by EagerTensor.__buffer__"),
    "array while compiled": (while_compiled(lambda x: tf.constant(np.array(x))), "host read by EagerTensor.__buffer__"),
    "ufunc": (before(lambda x: tf.constant(np.positive(x))), "host read by EagerTensor.__buffer__"),
    "ufunc while compiled": (
        while_compiled(lambda x: tf.constant(np.positive(x))),
        "host read by EagerTensor.__buffer__",
    ),
    "reduction": (after(lambda x: x + np.float32(0 * np.sum(x))), "host read by EagerTensor.__buffer__"),
    "concatenate": (
        after(lambda x: tf.constant(np.concatenate([x[:1], x[1:]]))),
        "host read by EagerTensor.__buffer__",
    ),
    "tolist": (before(lambda x: tf.constant(x.numpy().tolist())), "host read by EagerTensor.numpy"),
    "item of each": (before(scalars(lambda entry: entry.numpy().item())), NUMBERS),
    "float of each": (before(scalars(float)), NUMBERS),
    "complex of each": (before(scalars(lambda entry: complex(entry).real)), NUMBERS),
    "bool of each": (before(scalars(lambda entry: float(entry) if entry else 0.0)), NUMBERS),
    "pickled": (before(lambda x: pickle.loads(pickle.dumps(x))), "host read by EagerTensor.__reduce__"),
    "a variable's numpy": (before(lambda x: tf.constant(tf.Variable(x).numpy())), "host read by EagerTensor.numpy"),
    "static value": (while_compiled(lambda x: tf.constant(tf.get_static_value(x))), "host read by EagerTensor.numpy"),
    "exported": (
        before(lambda x: tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x))),
        "host read by EagerTensor.__dlpack__",
    ),
    "eager before": (before(twice_negative), "Neg"),
    "eager after": (after(twice_negative), "Neg"),
    "eager, lifted from what is compiled": (while_compiled(lift), "Neg"),
    "raw operation": (after(lambda x: tf.raw_ops.Neg(x=tf.raw_ops.Neg(x=x))), "Neg"),
    "operators": (after(lambda x: x * 2 - x), "Sub"),
    "gradient on a tape": (after(on_tape), "Mul"),
    "mapped": (before(lambda x: tf.map_fn(twice_negative, x)), "Neg"),
    "keras": (after(lambda x: tf.keras.ops.negative(tf.keras.ops.negative(x))), "Neg"),
    "NumPy's names": (
        after(lambda x: tf.experimental.numpy.negative(tf.experimental.numpy.negative(x))),
        "Neg",
    ),
    "plain function": (before(in_plain_function), "Neg"),
    "nested function": (before(in_nested_function), "Neg"),
    "function with a branch": (before(in_branch), "Neg"),
    "data set": (before(by_data_set), "IteratorGetNext"),
    "session": (before(by_session), "host read by EagerTensor.numpy"),
    "numpy_function": (before(by_numpy_function), "PyFunc"),
    "numpy_function in a function": (before(lambda x: tf.function(by_numpy_function)(x)), "PyFunc"),
    "py_function": (before(lambda x: tf.py_function(tf.identity, [x], tf.float32)), "EagerPyFunc"),
    "numpy in a thread": (before(in_thread(to_numpy)), "host read by EagerTensor.numpy"),
    "eager in a thread": (after(in_thread(twice_negative)), "Neg"),
    "numpy in an old thread": (before(in_old_thread(to_numpy)), "host read by EagerTensor.numpy"),
    "eager in an old thread": (before(in_old_thread(twice_negative)), "Neg"),
    "numpy in the first call": (only(to_numpy, lambda number: number == 1), "host read by EagerTensor.numpy"),
    "eager in the first call": (only(twice_negative, lambda number: number == 1), "Neg"),
    "numpy in later calls": (only(to_numpy, lambda number: number > 1), "host read by EagerTensor.numpy"),
    "eager in later calls": (only(twice_negative, lambda number: number > 1), "Neg"),
}


def by_itself(context: Context, x: Any) -> Call:
    return context.compiled(lambda: context.function(x))


def with_tape(context: Context, x: Any) -> Call:
    return context.compiled(lambda: context.function(on_tape(x)))


def with_function(context: Context, x: Any) -> Call:
    inner = tf.function(context.function)
    return context.compiled(lambda: inner(x))


def with_compiled_function(context: Context, x: Any) -> Call:
    inner = compile_call(context)
    return lambda: tf.function(lambda: inner(x))()


def with_device(context: Context, x: Any) -> Call:
    """Inside of a program that is compiled as a whole, no operation has a separate device."""

    def call() -> Any:
        with tf.device("/device:CPU:0"):
            return context.function(x)

    return context.compiled(call)


def with_variable(context: Context, x: Any) -> Call:
    variable = tf.Variable(x)
    return context.compiled(lambda: context.function(variable))


def with_new_variable(context: Context, x: Any) -> Call:
    negative = compile_call(context)
    return lambda: negative(tf.Variable(x))


def with_shape_from_array(context: Context, x: Any) -> Call:
    shape = tf.constant(x.shape.as_list())
    return context.compiled(lambda: tf.reshape(context.function(x), shape))


def with_branch(context: Context, x: Any) -> Call:
    return context.compiled(lambda: tf.cond(tf.size(x) > 0, lambda: context.function(x), lambda: x))


def with_new_seed(context: Context, x: Any) -> Call:
    """Keras creates the state of a generator (two integers) outside of the function that is being traced."""
    generators: list[Any] = []

    def call() -> Any:
        if not generators:
            generators.append(tf.keras.random.SeedGenerator(3))
        return context.function(x) + 0 * tf.keras.random.uniform(x.shape, seed=generators[0])

    return context.compiled(call)


def in_graph(context: Context, x: Any) -> Call:
    return graphing.in_session(lambda context, x: context.compiled(partial(context.function, x))())(context, x)


def in_another_thread(context: Context, x: Any) -> Call:
    negative = compile_call(context)
    return lambda: in_thread(negative)(x)


def copied_before(context: Context, x: Any) -> Call:
    """Work of the case before the call does not belong to the call."""
    copy = tf.constant(x.numpy())
    return context.compiled(lambda: context.function(copy))


HONEST: dict[str, Prepare] = {
    "by itself": by_itself,
    "with a tape": with_tape,
    "with a function": with_function,
    "with a compiled function": with_compiled_function,
    "with a device": with_device,
    "with a variable": with_variable,
    "with a new variable": with_new_variable,
    "with a shape from an array": with_shape_from_array,
    "with a branch": with_branch,
    "with a new seed": with_new_seed,
    "in a graph": in_graph,
    "in another thread": in_another_thread,
    "copied before": copied_before,
}


def eagerly(context: Context, x: Any) -> Call:
    return lambda: context.function(x)


def in_uncompiled_graph(context: Context, x: Any) -> Call:
    return graphing.in_session(lambda context, x: context.function(x))(context, x)


def in_uncompiled_function(context: Context, x: Any) -> Call:
    function = tf.function(context.function)
    return lambda: function(x)


NEVER_THERE: dict[str, Prepare] = {
    "eagerly": eagerly,
    "in a graph that is not compiled": in_uncompiled_graph,
    "in a function that is not compiled": in_uncompiled_function,
}
"""Calls that pass although they execute no compiled program."""
