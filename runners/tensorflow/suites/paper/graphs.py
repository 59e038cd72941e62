"""Cases of building graphs: ``tf.Graph.as_default``, ``get_collection``, and ``tf.Tensor.get_shape``.

``sessions.py`` has the cases of running graphs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function
from runners.tensorflow.placement.sessions import fetched
from runners.tensorflow.suites.paper.graphing import initialised, own_graph, refusal, same, session_of, stand_ins, v1

Array = np.ndarray[Any, Any]

as_default = Function("tf.Graph.as_default")


def built_within(context: Context, x: Any, w: Any) -> Callable[[], Any]:
    """Prepare operations that are built in a graph's scope. They belong to this graph, and its session runs them."""

    def call() -> Any:
        graph = tf.Graph()
        with context.function(graph) as entered, tf.device(context.device):
            (start, weights), feeds = stand_ins([x, w])
            end = tf.nn.relu(tf.matmul(start, weights))
            owned = entered is graph and tf.compat.v1.get_default_graph() is graph and end.graph is graph
        with session_of(graph) as session:
            return (
                owned,
                [operation.type for operation in graph.get_operations()],
                fetched(session.run(end, feeds), end),
            )

    return call


def check_built(observed: Any, x: Array, w: Array) -> None:
    owned, types, values = observed
    assert owned, "what was built is not in the graph that was entered"
    assert types == ["Placeholder", "Placeholder", "MatMul", "Relu"], f"the graph holds {types}"
    same(values, np.maximum(x @ w, 0), 1e-4)
    assert values.dtype == "float32", values.dtype


as_default.behaviour(
    "built-and-run-128x64",
    lambda inputs: [inputs.normal(128, 64) / 8, inputs.normal(64, 32)],
    check_built,
    prepare=built_within,
)


def two_apart(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare two graphs with variables of the same name. The variables are independent."""

    def call() -> Any:
        results = []
        for factor in (2.0, -3.0):
            graph = tf.Graph()
            with context.function(graph), tf.device(context.device):
                (start,), feeds = stand_ins([x])
                scale = v1.get_variable("scale", initializer=tf.constant(factor), use_resource=True)
                end = start * scale
            with initialised(graph) as session:
                results.append(fetched(session.run(end, feeds), end))
        return results

    return call


def check_apart(observed: Any, x: Array) -> None:
    one, other = observed
    same(one, 2 * x)
    same(other, -3 * x)


as_default.behaviour("two-graphs-are-apart", lambda inputs: [inputs.normal(16, 9)], check_apart, prepare=two_apart)


def nested(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare nested graphs. After each scope, even after an error, the previous graph is the default again. Eager
    execution is off inside, and on afterwards."""

    def call() -> Any:
        outer, inner = tf.Graph(), tf.Graph()
        found = [tf.executing_eagerly()]
        with context.function(outer):
            found.append(not tf.executing_eagerly())
            with context.function(inner):
                found.append(v1.get_default_graph() is inner)
            found.append(v1.get_default_graph() is outer)
            try:
                with context.function(inner):
                    raise KeyError
            except KeyError:
                found.append(v1.get_default_graph() is outer)
        found.append(tf.executing_eagerly())
        return found, x * 2

    return call


def check_nested(observed: Any, x: Array) -> None:
    found, values = observed
    assert found == [True] * 6, f"eager before, off within, inner, outer, outer after an error, eager after: {found}"
    same(values, x * 2)


as_default.behaviour("nested-and-left", lambda inputs: [inputs.normal(5)], check_nested, prepare=nested)


def in_another_thread(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a graph that a second thread extends. Each thread has its own default graph."""

    def call() -> Any:
        graph, elsewhere = tf.Graph(), []

        def fill() -> None:
            elsewhere.append(v1.get_default_graph() is graph)
            with context.function(graph), tf.device(context.device):
                elsewhere.append(tf.multiply(start, 3, name="there"))

        with context.function(graph), tf.device(context.device):
            (start,), feeds = stand_ins([x])
            thread = threading.Thread(target=fill)
            thread.start()
            thread.join()
        before, end = elsewhere
        with session_of(graph) as session:
            return before, fetched(session.run(end, feeds), end)

    return call


def check_thread(observed: Any, x: Array) -> None:
    before, values = observed
    assert before is False, "the graph was another thread's default"
    same(values, 3 * x)


as_default.behaviour(
    "thread-has-its-own", lambda inputs: [inputs.normal(6, 2)], check_thread, prepare=in_another_thread
)


get_collection = Function("tf.compat.v1.get_collection")


def collecting(build: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``prepare`` that calls ``build(get_collection, x)`` in a graph, initializes its variables and runs its
    tensors."""

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        def call() -> Any:
            with own_graph(context) as graph:
                (start,), feeds = stand_ins([x])
                findings, found = build(context.function, start)
            with initialised(graph) as session:
                return findings, fetched(session.run(found, feeds), found)

        return call

    return prepare


def added(get: Any, x: Any) -> Any:
    for name, value in (("ours", x * 2), ("theirs", x * 5), ("ours", x - 1)):
        v1.add_to_collection(name, value)
    return [len(get("ours")), len(get("theirs")), get("nobody's")], get("ours")


def check_added(observed: Any, x: Array) -> None:
    findings, (one, other) = observed
    assert findings == [2, 1, []], findings
    same(one, x * 2)
    same(other, x - 1)


def variables_in_order(get: Any, x: Any) -> Any:
    v1.get_variable("first", initializer=tf.zeros([4]) + 1, use_resource=True)
    v1.get_variable("fixed", initializer=tf.zeros([4]) + 2, trainable=False, use_resource=True)
    v1.get_variable("last", initializer=tf.zeros([4]) + 3, use_resource=True)
    keys = v1.GraphKeys
    names = [[variable.op.name for variable in get(key)] for key in (keys.GLOBAL_VARIABLES, keys.TRAINABLE_VARIABLES)]
    return names, [variable.read_value() * x for variable in get(keys.TRAINABLE_VARIABLES)]


def check_variables(observed: Any, x: Array) -> None:
    names, (first, last) = observed
    assert names == [["first", "fixed", "last"], ["first", "last"]], names
    same(first, x)
    same(last, 3 * x)


def losses(get: Any, x: Any) -> Any:
    v1.losses.mean_squared_error(x, x * 0)
    v1.losses.absolute_difference(x, x * 0, scope="other")
    key = v1.GraphKeys.LOSSES
    return [len(get(key)), len(get(key, scope="other"))], [get(key, scope="other")[0], tf.add_n(get(key))]


def check_losses(observed: Any, x: Array) -> None:
    counts, (one, total) = observed
    assert counts == [2, 1], counts
    same(one, abs(x).mean())
    same(total, abs(x).mean() + (x * x).mean())


def by_scope(get: Any, x: Any) -> Any:
    for scope in ("left", "right", "lefthand"):
        with tf.name_scope(scope):
            v1.add_to_collection("all", tf.multiply(x, 2, name="twice"))
    names = [
        [variable.op.name for variable in get("all", scope)] for scope in (None, "left", "left/", ".*hand", "twice")
    ]
    return names, get("all", "right")


def check_scope(observed: Any, x: Array) -> None:
    names, (found,) = observed
    everywhere = ["left/twice", "right/twice", "lefthand/twice"]
    # The scope is a regular expression that must match at the beginning of the name.
    assert names == [everywhere, ["left/twice", "lefthand/twice"], ["left/twice"], ["lefthand/twice"], []], names
    same(found, 2 * x)


def copied(get: Any, x: Any) -> Any:
    v1.add_to_collection("ours", x + 1)
    get("ours").append("more")
    before = len(get("ours"))
    v1.get_collection_ref("ours").append(x + 2)
    return [before, len(get("ours"))], get("ours")


def check_copied(observed: Any, x: Array) -> None:
    counts, (one, other) = observed
    assert counts == [1, 2], f"a copy and the list itself were changed: {counts}"
    same(one, x + 1)
    same(other, x + 2)


for name, build, check in (
    ("what-was-added-in-order", added, check_added),
    ("variables-global-and-trainable", variables_in_order, check_variables),
    ("losses", losses, check_losses),
    ("scope-filters-by-prefix", by_scope, check_scope),
    ("result-is-a-copy", copied, check_copied),
):
    get_collection.behaviour(name, lambda inputs: [inputs.normal(4)], check, prepare=collecting(build))


def graph_by_graph(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with own_graph(context):
            v1.add_to_collection("ours", "here")
            with own_graph(context):
                inner = context.function("ours")
            return inner, context.function("ours")

    return call


def check_graphs(observed: Any, x: Array) -> None:
    inner, outer = observed
    assert (list(inner), list(outer)) == ([], ["here"]), observed


get_collection.behaviour(
    "each-graph-has-its-own", lambda inputs: [inputs.normal(2)], check_graphs, prepare=graph_by_graph
)


get_shape = Function("tf.Tensor.get_shape")


def eager_shape(context: Context, x: Any) -> Callable[[], Any]:
    return lambda: context.function(x).as_list()


def shape_of(x: Array) -> list[int]:
    return list(x.shape)


get_shape.value("float32-64x128", lambda inputs: [inputs.normal(64, 128)], reference=shape_of, prepare=eager_shape)
get_shape.value("int64-no-elements", lambda inputs: [inputs.integers(3, 0, 2)], reference=shape_of, prepare=eager_shape)
get_shape.value("five-axes", lambda inputs: [inputs.normal(1, 2, 3, 2, 1)], reference=shape_of, prepare=eager_shape)


def scalar_shape(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        shape = context.function(x)
        return {"rank": shape.rank, "elements": shape.num_elements(), "equals ()": shape == ()}

    return call


def check_scalar(observed: Any, x: Any) -> None:
    assert observed == {"rank": 0, "elements": 1, "equals ()": True}, observed


get_shape.behaviour("scalar", lambda inputs: [np.asarray(2.5)], check_scalar, prepare=scalar_shape)


def inferred(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare the shapes that are inferred in a graph, as far as they can be known."""

    def call() -> Any:
        with own_graph(context):
            known = v1.placeholder(tf.float32, [3, 4])
            partly = v1.placeholder(tf.float32, [None, 4])
            unknown = v1.placeholder(tf.float32)
            shapes = {
                "matmul": context.function(tf.matmul(partly, known, transpose_b=True)).as_list(),
                "joined": context.function(tf.concat([known, known], 1)).as_list(),
                "mean": context.function(tf.reduce_mean(partly, 0)).as_list(),
                "sum of unknown": context.function(unknown + 1).rank,
                "list of unknown": refusal(context.function(unknown).as_list),
            }
            unknown.set_shape([None, 7])
            return {**shapes, "set later": context.function(unknown).as_list()}

    return call


def check_inferred(observed: Any, x: Any) -> None:
    assert observed == {
        "matmul": [None, 3],
        "joined": [3, 8],
        "mean": [4],
        "sum of unknown": None,
        "list of unknown": "ValueError",
        "set later": [None, 7],
    }, observed


get_shape.behaviour("inferred-in-a-graph", lambda inputs: [inputs.normal(2)], check_inferred, prepare=inferred)


def inferred_while_traced(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare the shape that a ``tf.function`` sees: the shape in its signature, and not the shape of its argument."""

    def call() -> Any:
        seen = []

        def doubled(rows: Any) -> Any:
            seen.append(context.function(rows).as_list())
            return rows * 2

        traced = tf.function(doubled, input_signature=[tf.TensorSpec([None, 6], x.dtype)])
        return [context.function(traced(x)).as_list(), *seen]

    return call


get_shape.value(
    "in-a-function",
    lambda inputs: [inputs.normal(5, 6)],
    reference=lambda x: [[5, 6], [None, 6]],
    prepare=inferred_while_traced,
)

FUNCTIONS: list[Function] = [as_default, get_collection, get_shape]
