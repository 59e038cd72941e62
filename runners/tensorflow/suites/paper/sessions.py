"""Cases of sessions: ``tf.compat.v1.Session.run``.

They chart typical uses: graphs of many kinds, fetches and feeds in all structures, and the documented errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs, Prepare
from runners.suite.checks import Tolerance
from runners.suite.optional import optional
from runners.tensorflow.placement.sessions import fetched
from runners.tensorflow.suites.paper.graphing import compiled, own_graph, refusal, same, session_of, stand_ins, v1

special = optional("scipy.special")

SUMMED = Tolerance(1e-4, 1e-4)
"""The tolerance of float32 sums of some dozen products, which a kernel may add in any order."""


def running(build: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for a run of a graph. ``build(*tensors)`` makes the fetches, compiled if the device is a
    compiler."""

    def prepare(context: Context, *arguments: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            tensors, feeds = stand_ins(arguments)
            fetches = compiled(context, lambda: build(*tensors))
        session = session_of(graph)
        return lambda: fetched(context.function(session, fetches, feeds), fetches)

    return prepare


def with_variables(build: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for runs with variables. ``build(graph, *tensors)`` makes the variables, and returns a
    function that gets ``run``.

    Every call initializes the variables first, so that all calls see the same values.
    """

    def prepare(context: Context, *arguments: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            tensors, feeds = stand_ins(arguments)
            scenario = build(graph, *tensors)
            start = v1.global_variables_initializer()
        session = session_of(graph)

        def run(fetches: Any) -> Any:
            return fetched(context.function(session, fetches, feeds), fetches)

        def call() -> Any:
            session.run(start, feeds)
            return scenario(run)

        return call

    return prepare


run = Function("tf.compat.v1.Session.run")


def computes(
    name: str,
    build: Callable[..., Any],
    arguments: Callable[[Inputs], Any],
    reference: Callable[..., Any],
    dtype: str = "float32",
    tolerance: Tolerance | None = None,
) -> None:
    run.value(name, arguments, reference=reference, prepare=running(build), dtype=dtype, tolerance=tolerance)


computes(
    "float32-matmul-256x256",
    tf.matmul,
    lambda inputs: [inputs.normal(256, 256) / 16, inputs.normal(256, 256)],
    np.matmul,
    tolerance=SUMMED,
)
computes(
    "float64-matmul", tf.matmul, lambda inputs: [inputs.normal(5, 7), inputs.normal(7, 3)], np.matmul, dtype="float64"
)
computes("float16-sum", tf.add, lambda inputs: [inputs.normal(33, 65), inputs.normal(65)], np.add, dtype="float16")
computes("bfloat16-product", tf.multiply, lambda inputs: [inputs.normal(9, 5)] * 2, np.multiply, dtype="bfloat16")
computes(
    "complex64-product",
    tf.multiply,
    lambda inputs: [inputs.normal(6) + 1j, 2 - 1j * inputs.normal(6)],
    np.multiply,
    "complex64",
)
computes(
    "int32-product",
    tf.multiply,
    lambda inputs: [inputs.integers(8, 9, dtype="int32"), np.int32(3)],
    np.multiply,
    "int32",
)
computes("int64-floor-division", lambda x: x // 4, lambda inputs: [inputs.integers(8, 9)], lambda x: x // 4, "int64")
computes(
    "uint8-difference-wraps",
    tf.subtract,
    lambda inputs: [inputs.integers(40, low=0, high=9, dtype="uint8"), np.uint8(5)],
    np.subtract,
    "uint8",
)
computes(
    "bool-exclusive-or",
    tf.math.logical_xor,
    lambda inputs: [inputs.booleans(9, 8), inputs.booleans(8)],
    np.logical_xor,
    "bool",
)
computes("no-elements", lambda x: x * 2 + 1, lambda inputs: [inputs.normal(0, 4)], lambda x: x * 2 + 1)
computes("scalar", lambda x: x * 3, lambda inputs: [np.asarray(1.5)], lambda x: np.asarray(x * 3))
computes(
    "nan-and-infinity-pass", lambda x: x * 2, lambda inputs: [np.array([np.nan, np.inf, -np.inf, 1.0])], lambda x: x * 2
)
computes(
    "sum-of-rows",
    lambda x: tf.reduce_sum(x, 1),
    lambda inputs: [inputs.normal(64, 128)],
    lambda x: x.sum(1),
    tolerance=SUMMED,
)
computes(
    "largest-of-columns", lambda x: tf.reduce_max(x, 0), lambda inputs: [inputs.normal(33, 17)], lambda x: x.max(0)
)
computes(
    "position-of-the-largest",
    lambda x: tf.argmax(x, 1),
    lambda inputs: [inputs.distinct(16, 31)],
    lambda x: np.argmax(x, 1),
)
computes("cumulative-sum", lambda x: tf.cumsum(x, 1), lambda inputs: [inputs.normal(8, 32)], lambda x: np.cumsum(x, 1))
computes("softmax", tf.nn.softmax, lambda inputs: [inputs.normal(32, 50)], lambda x: special.softmax(x, -1))
computes("transposed", tf.transpose, lambda inputs: [inputs.normal(3, 4, 5)], np.transpose)
computes(
    "joined-and-split",
    lambda x, y: tf.split(tf.concat([x, y], 0), 3),
    lambda inputs: [inputs.normal(4, 5), inputs.normal(2, 5)],
    lambda x, y: np.split(np.concatenate([x, y]), 3),
)
computes(
    "rows-gathered", tf.gather, lambda inputs: [inputs.normal(20, 6), np.array([3, 0, 19, 3])], lambda x, rows: x[rows]
)
computes("sorted", tf.sort, lambda inputs: [inputs.distinct(7, 30)], np.sort)
computes(
    "four-largest",
    lambda x: list(tf.math.top_k(x, 4)),
    lambda inputs: [inputs.distinct(5, 20)],
    lambda x: [-np.sort(-x)[:, :4], np.argsort(-x)[:, :4].astype("int32")],
)
computes(
    "chosen-by-a-condition",
    lambda x: tf.where(x > 0, x, tf.exp(x) - 1),
    lambda inputs: [inputs.normal(12, 12)],
    lambda x: np.where(x > 0, x, np.expm1(x)),
)
computes(
    "segments-summed",
    lambda x: tf.math.unsorted_segment_sum(x, [0, 2, 0, 1, 2], 3),
    lambda inputs: [inputs.normal(5, 4)],
    lambda x: np.stack([x[0] + x[2], x[3], x[1] + x[4]]),
)
computes("one-hot", lambda x: tf.one_hot(x, 5), lambda inputs: [np.array([1, 4, 0], "int32")], lambda x: np.eye(5)[x])
computes(
    "cast-to-integers",
    lambda x: tf.cast(x, tf.int32),
    lambda inputs: [inputs.normal(30) * 9],
    lambda x: np.trunc(x).astype("int32"),
)
computes(
    "einsum",
    lambda x, y: tf.einsum("bij,bkj->bik", x, y),
    lambda inputs: [inputs.normal(3, 4, 5), inputs.normal(3, 6, 5)],
    lambda x, y: np.einsum("bij,bkj->bik", x, y),
)
computes(
    "linear-system-solved",
    tf.linalg.solve,
    lambda inputs: [inputs.normal(6, 6) * 0.2 + 2 * np.eye(6), inputs.normal(6, 2)],
    np.linalg.solve,
)


def convolved(x: Any, kernel: Any) -> Any:
    """Compute a convolution of one image with one channel and valid padding, as a sum of shifted products."""
    rows, columns = x.shape[1] - 2, x.shape[2] - 2
    shifts = [(i, j) for i in range(3) for j in range(3)]
    return sum(x[:, i : i + rows, j : j + columns, :1] * kernel[i, j, 0] for i, j in shifts)


computes(
    "convolution",
    lambda x, kernel: tf.nn.conv2d(x, kernel, 1, "VALID"),
    lambda inputs: [inputs.normal(1, 20, 24, 1), inputs.normal(3, 3, 1, 4)],
    convolved,
)
computes(
    "gradients",
    lambda x, w: tf.gradients(tf.reduce_sum(tf.tanh(tf.matmul(x, w))), [x, w]),
    lambda inputs: [inputs.normal(6, 4) * 0.3, inputs.normal(4, 5) * 0.3],
    lambda x, w: [(1 - np.tanh(x @ w) ** 2) @ w.T, x.T @ (1 - np.tanh(x @ w) ** 2)],
)
computes(
    "branch-taken-in-the-graph",
    lambda x: v1.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1),
    lambda inputs: [inputs.uniform(5, 4, low=0.5)],
    lambda x: x * 2,
)
computes(
    "loop-in-the-graph",
    lambda x: v1.while_loop(lambda step, _: step < 5, lambda step, y: (step + 1, y * x + 1), (0, x))[1],
    lambda inputs: [inputs.uniform(16, 16)],
    lambda x: x**6 + x**4 + x**3 + x**2 + x + 1,
)

computes(
    "fetches-in-a-dictionary",
    lambda x: {"twice": 2 * x, "squared": x * x},
    lambda inputs: [inputs.normal(5, 6)],
    lambda x: {"twice": 2 * x, "squared": x * x},
)
computes(
    "fetches-nested",
    lambda x: {"both": [x + 1, (x * 3, {"half": x / 2})]},
    lambda inputs: [inputs.normal(7)],
    lambda x: {"both": [x + 1, [x * 3, {"half": x / 2}]]},
)
computes("one-tensor-fetched-twice", lambda x: [x + 1] * 2, lambda inputs: [inputs.normal(7)], lambda x: [x + 1] * 2)
computes(
    "what-is-fed-is-fetched-too",
    lambda x, y: [x + y, x - y, y * 2],
    lambda inputs: [inputs.normal(7), inputs.normal(7)],
    lambda x, y: [x + y, x - y, y * 2],
)


def midway_fed(context: Context, x: Any, instead: Any) -> Callable[[], Any]:
    """Prepare a feed that replaces an intermediate tensor instead of a placeholder."""
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([x])
        middle = tf.exp(start)
        end = middle * 2 + start
    session = session_of(graph)
    feeds[middle] = instead.numpy()
    return lambda: fetched(context.function(session, end, feeds), end)


run.value(
    "tensor-in-the-middle-fed",
    lambda inputs: [inputs.normal(6, 5), inputs.normal(6, 5)],
    reference=lambda x, instead: instead * 2 + x,
    prepare=midway_fed,
)


def fetched_by_name(context: Context, x: Any) -> Callable[[], Any]:
    with own_graph(context) as graph:
        start = v1.placeholder(x.dtype, x.shape, name="start")
        end = tf.multiply(start, 3, name="end")
    session, values = session_of(graph), x.numpy()
    return lambda: fetched(context.function(session, "end:0", {"start:0": values}), end)


run.value(
    "fetched-and-fed-by-name", lambda inputs: [inputs.normal(6, 5)], reference=lambda x: x * 3, prepare=fetched_by_name
)


def sparse_fed(context: Context, values: Any, dense: Any, *, rows: list[int], columns: list[int]) -> Callable[[], Any]:
    with own_graph(context) as graph:
        matrix = v1.sparse_placeholder(values.dtype, [6, 8])
        (other,), feeds = stand_ins([dense])
        product = v1.sparse_tensor_dense_matmul(matrix, other)
    session = session_of(graph)
    places = np.stack([rows, columns], 1).astype("int64")
    feeds[matrix] = v1.SparseTensorValue(places, values.numpy(), np.array([6, 8]))
    return lambda: fetched(context.function(session, product, feeds), product)


def sparse_product(values: Any, dense: Any, *, rows: list[int], columns: list[int]) -> Any:
    full = np.zeros((6, 8))
    full[rows, columns] = values
    return full @ dense


run.value(
    "sparse-matrix-fed",
    lambda inputs: [inputs.normal(4), inputs.normal(8, 3)],
    reference=sparse_product,
    prepare=sparse_fed,
    rows=[0, 1, 3, 5],
    columns=[7, 0, 2, 2],
)


def counted(graph: Any, x: Any) -> Any:
    total = v1.get_variable("total", initializer=tf.ones_like(x), use_resource=True)
    added = v1.assign_add(total, x)
    return lambda run: [run(added), run(added), run(total)]


def updated_after(graph: Any, x: Any) -> Any:
    state = v1.get_variable("state", initializer=x, use_resource=True)
    with tf.control_dependencies([v1.assign(state, state * 2)]):
        after = state.read_value() + 1
    return lambda run: run([after, x])[0]


def two_steps(graph: Any, x: Any) -> Any:
    weights = v1.get_variable("weights", initializer=tf.zeros([4, 1], x.dtype), use_resource=True)
    loss = tf.reduce_sum((tf.matmul(x, weights) - 1) ** 2)
    step = v1.train.GradientDescentOptimizer(0.0625).minimize(loss)
    return lambda run: [run(step), run(step), run(weights)]


def two_steps_reference(x: Any) -> Any:
    weights = np.zeros((4, 1))
    for _ in range(2):
        weights = weights - 0.125 * x.T @ (x @ weights - 1)
    return [None, None, weights]


run.value(
    "state-is-kept-between-runs",
    lambda inputs: [inputs.uniform(64, 64, low=1.0, high=2.0)],
    reference=lambda x: [1 + x, 1 + 2 * x, 1 + 2 * x],
    prepare=with_variables(counted),
)
run.value(
    "state-is-kept-int64",
    lambda inputs: [inputs.integers(8)],
    dtype="int64",
    reference=lambda x: [1 + x, 1 + 2 * x, 1 + 2 * x],
    prepare=with_variables(counted),
)
run.value(
    "control-dependency-orders",
    lambda inputs: [inputs.normal(9, 9)],
    reference=lambda x: 2 * x + 1,
    prepare=with_variables(updated_after),
)
run.value(
    "operation-returns-none",
    lambda inputs: [inputs.normal(6, 4) * 0.5],
    reference=two_steps_reference,
    prepare=with_variables(two_steps),
)


def refused(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    """Prepare calls that must raise the documented errors, followed by a correct run."""
    with own_graph(context) as graph:
        start = v1.placeholder(x.dtype, x.shape)
        end = start * 2
        unset = v1.get_variable("unset", [3], use_resource=True)
        wrong = tf.debugging.check_numerics(end / 0, "not a number")
    with own_graph(context):
        elsewhere = tf.constant(1.0)
    session, closed = session_of(graph), session_of(graph)
    values = x.numpy()

    def call() -> Any:
        closed.close()
        names = {
            "nothing fed": refusal(lambda: context.function(session, end)),
            "another shape fed": refusal(lambda: context.function(session, end, {start: values[:, :2]})),
            "text fed": refusal(lambda: context.function(session, end, {start: "text"})),
            "a tensor fed": refusal(lambda: context.function(session, end, {start: y})),
            "variable not initialised": refusal(lambda: context.function(session, unset)),
            "another graph's tensor": refusal(lambda: context.function(session, elsewhere)),
            "no such name": refusal(lambda: context.function(session, "nowhere:0")),
            "fetched is None": refusal(lambda: context.function(session, None)),
            "kernel refuses": refusal(lambda: context.function(session, wrong, {start: values})),
            "session closed": refusal(lambda: context.function(closed, end, {start: values})),
        }
        return names, fetched(context.function(session, end, {start: values}), end)

    return call


def check_refused(observed: Any, x: Any, y: Any) -> None:
    names, values = observed
    assert names == {
        "nothing fed": "InvalidArgumentError",
        "another shape fed": "ValueError",
        "text fed": "ValueError",
        "a tensor fed": "TypeError",
        "variable not initialised": "FailedPreconditionError",
        "another graph's tensor": "ValueError",
        "no such name": "ValueError",
        "fetched is None": "TypeError",
        "kernel refuses": "InvalidArgumentError",
        "session closed": "RuntimeError",
    }, names
    same(values, x * 2)


run.behaviour("errors-are-those-promised", lambda inputs: [inputs.normal(4, 3)] * 2, check_refused, prepare=refused)


def traced(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a run with ``options`` and ``run_metadata``, in which the session reports the operations that it ran."""
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([x])
        end = tf.matmul(start, start, name="product")
    session = session_of(graph)
    options = v1.RunOptions(trace_level=v1.RunOptions.SOFTWARE_TRACE)

    def call() -> Any:
        metadata = v1.RunMetadata()
        result = fetched(context.function(session, end, feeds, options=options, run_metadata=metadata), end)
        ran = [(node.node_name, stats.device) for stats in metadata.step_stats.dev_stats for node in stats.node_stats]
        return [device for name, device in ran if name.startswith("product")], context.device, result

    return call


def check_traced(observed: Any, x: Any) -> None:
    devices, wanted, result = observed
    assert devices, "the product does not show"
    assert all(device.endswith(wanted) for device in devices), f"the product ran on {devices}"
    same(result, x @ x)


run.behaviour("metadata-tells-what-ran", lambda inputs: [inputs.normal(16, 16) / 4], check_traced, prepare=traced)

FUNCTIONS: list[Function] = [run]
