"""Cases of Python code that TensorFlow runs on the host: ``tf.numpy_function``, and batch sizes of replicas.

``tf.numpy_function`` moves its arrays to the host and back, which its placement shows. A batch size does not use the
device.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Prepare
from runners.suite.checks import EXACT, Expected
from runners.suite.optional import optional

special = optional("scipy.special")

Array = np.ndarray[Any, Any]


def within(body: Callable[..., Any], results: Any, *, traced: bool = False) -> Prepare:
    """Return a ``prepare`` that calls ``body`` with NumPy arrays. ``results`` are the dtypes of its results. If
    ``traced`` is true, it runs in a ``tf.function``."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        def leave(*arrays: Any) -> Any:
            return context.function(body, arrays, results, **options)

        # The arrays are arguments, because TensorFlow may compute constants of a graph in advance.
        chosen = tf.function(leave) if traced else leave
        return context.compiled(lambda: chosen(*arguments))

    return prepare


def doubled_rows(x: Any) -> Any:
    return np.repeat(x, 2, axis=0) + x.dtype.type(1)


numpy_function = Function("tf.numpy_function")
numpy_function.value(
    "float32-sinh-64x128",
    lambda inputs: [inputs.normal(64, 128)],
    # This computes the definition, because the case calls NumPy's own function.
    reference=lambda x: (np.exp(x) - np.exp(-x)) / 2,
    prepare=within(np.sinh, tf.float32),
)
numpy_function.value(
    "in-a-function",
    lambda inputs: [inputs.normal(64, 128)],
    reference=lambda x: (np.exp(x) - np.exp(-x)) / 2,
    prepare=within(np.sinh, tf.float32, traced=True),
)
numpy_function.value(
    "float64-scipy",
    lambda inputs: [inputs.uniform(8, 9, low=0.5, high=6.0)],
    dtype="float64",
    # This uses the recurrence of the gamma function.
    reference=lambda x: special.gamma(x) * x,
    prepare=within(lambda x: special.gamma(x + 1), tf.float64, traced=True),
)
numpy_function.value(
    "float16-to-another-shape",
    lambda inputs: [inputs.normal(5, 3)],
    dtype="float16",
    reference=lambda x: np.stack([x, x], 1).reshape(10, 3) + 1,
    prepare=within(doubled_rows, tf.float16, traced=True),
)
numpy_function.value(
    "int32-sorted",
    lambda inputs: [inputs.rng.permutation(50).astype("int32")],
    dtype="int32",
    reference=lambda x: np.arange(50, dtype="int32"),
    prepare=within(np.sort, tf.int32, traced=True),
)
numpy_function.value(
    "complex64",
    lambda inputs: [inputs.normal(6, 7) + 1j * inputs.normal(6, 7)],
    dtype="complex64",
    reference=lambda x: x.real - 1j * x.imag,
    prepare=within(np.conj, tf.complex64, traced=True),
)
numpy_function.value(
    "two-in-two-out",
    lambda inputs: [inputs.normal(9, 4), inputs.normal(9, 4)],
    reference=lambda x, y: [np.where(x < y, y, x), np.logical_or(x < 0, y < 0)],
    prepare=within(lambda x, y: (np.maximum(x, y), np.minimum(x, y) < 0), [tf.float32, tf.bool], traced=True),
    tolerance=EXACT,
)
numpy_function.value(
    "strings",
    lambda inputs: [np.array([b"bay", b"cape", b"reef"])],
    reference=lambda names: Expected(np.array([b"BAY", b"CAPE", b"REEF"]), "string"),
    prepare=within(lambda names: np.array([name.upper() for name in names], object), tf.string, traced=True),
)
numpy_function.value(
    "not-stateful",
    lambda inputs: [inputs.uniform(12)],
    reference=lambda x, **_: x * x,
    prepare=within(np.square, tf.float32, traced=True),
    stateful=False,
)
numpy_function.value(
    "empty",
    lambda inputs: [inputs.normal(0, 3)],
    reference=lambda x: np.zeros((0, 3)),
    prepare=within(np.sinh, tf.float32, traced=True),
)


def decorated(context: Context, x: Any) -> Callable[[], Any]:
    @context.function(Tout=tf.float32)  # type: ignore[untyped-decorator]
    def cube(values: Any) -> Any:
        return values**3

    return context.compiled(lambda: cube(x))


numpy_function.value(
    "as-a-decorator",
    lambda inputs: [inputs.uniform(7, low=1.0, high=2.0)],
    reference=lambda x: x * x * x,
    prepare=decorated,
)


def mapped(context: Context, rows: Any) -> Callable[[], Any]:
    def call() -> Any:
        rooted = tf.data.Dataset.from_tensor_slices(rows).map(lambda row: context.function(np.sqrt, [row], tf.float32))
        return list(rooted)

    return call


numpy_function.value(
    "over-a-data-set",
    lambda inputs: [inputs.uniform(5, 4, low=1.0, high=9.0)],
    reference=lambda rows: list(np.exp(np.log(rows) / 2)),
    prepare=mapped,
)


def raising(context: Context, x: Any) -> Callable[[], Any]:
    def body(values: Any) -> Any:
        raise ValueError("aground at " + str(values.shape))

    whole = tf.function(lambda: context.function(body, [x], tf.float32))

    def call() -> str:
        try:
            whole()
        except tf.errors.InvalidArgumentError as error:
            return str(error.message)
        return "no error"

    return call


def check_raising(observed: Any, *_: Any) -> None:
    assert "aground at (3, 2)" in observed, f"the error of the body is not told: {observed}"


numpy_function.behaviour("an-error-of-its-body", lambda inputs: [inputs.normal(3, 2)], check_raising, prepare=raising)
numpy_function.value(
    "nan-and-infinities",
    lambda inputs: [np.array([np.nan, np.inf, -np.inf, 1.5])],
    reference=lambda x: x * x,
    prepare=within(np.square, tf.float32, traced=True),
)


def no_inputs(_: Any) -> Any:
    return []


def replicas_of(context: Context, *, replicas: int, batch: int) -> Callable[[], Any]:
    return partial(context.function, tf.distribute.InputContext(num_replicas_in_sync=replicas), batch)


gone = Function("tf.distribute.Strategy.get_per_replica_batch_size")
gone.value(
    "one-replica",
    no_inputs,
    reference=lambda *, batch: batch,
    prepare=lambda context, *, batch: lambda: context.function(tf.distribute.OneDeviceStrategy(context.device), batch),
    batch=96,
)

batch_size = Function(
    "tf.distribute.InputContext.get_per_replica_batch_size",
    reference=lambda *, replicas, batch: len(range(0, batch, replicas)),
    prepare=replicas_of,
)
batch_size.value("eight-replicas", no_inputs, replicas=8, batch=1024)
batch_size.value("one-replica", no_inputs, replicas=1, batch=17)
batch_size.value("one-to-each", no_inputs, replicas=6, batch=6)
batch_size.value("nothing", no_inputs, replicas=4, batch=0)


def from_a_strategy(context: Context, *, batch: int) -> Callable[[], Any]:
    """Prepare a call with the context that a strategy passes to the function that creates its data set."""
    strategy = tf.distribute.OneDeviceStrategy(context.device)
    found: list[Any] = []

    def data(input_context: Any) -> Any:
        found.append([context.function(input_context, batch), input_context.num_replicas_in_sync])
        return tf.data.Dataset.range(batch).batch(batch)

    def call() -> Any:
        found.clear()
        strategy.distribute_datasets_from_function(data)
        return found[0]

    return call


batch_size.value("of-a-strategy", no_inputs, reference=lambda *, batch: [batch, 1], prepare=from_a_strategy, batch=48)


def indivisible(context: Context, *, replicas: int, batch: int) -> Callable[[], Any]:
    def call() -> str:
        try:
            replicas_of(context, replicas=replicas, batch=batch)()
        except ValueError as error:
            return str(error)
        return "no error"

    return call


def check_indivisible(observed: Any, *, replicas: int, batch: int) -> None:
    for number in (replicas, batch):
        assert str(number) in observed, f"a batch that cannot be divided: {observed}"


batch_size.behaviour("refuses-a-remainder", no_inputs, check_indivisible, prepare=indivisible, replicas=2, batch=7)

FUNCTIONS: list[Function] = [numpy_function, gone, batch_size]
