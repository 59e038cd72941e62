"""Cases of conditions and assertions: the module ``smart_cond``, and ``TestCase.assertEqual``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Prepare
from runners.tensorflow.placement.sessions import fetched
from runners.tensorflow.suites.paper.graphing import compiled, matching, own_graph, refusal, session_of, stand_ins, v1

Array = np.ndarray[Any, Any]

# The study names a module. Its cases chart the module's main function, which has the same name: a known condition
# selects its branch at once, and any other condition becomes part of the graph.
smart_cond = Function("tf.python.framework.smart_cond")


def taken(context: Context, x: Any, *, known: Any) -> Callable[[], Any]:
    """Prepare a condition that is a Python value. The other branch is not built."""
    built: list[str] = []

    def branch(name: str, factor: int) -> Callable[[], Any]:
        def build() -> Any:
            built.append(name)
            return x * factor

        return build

    def call() -> Any:
        return context.function.smart_cond(known, branch("true", 2), branch("false", -3))

    calling = context.compiled(tf.autograph.experimental.do_not_convert(call))
    return lambda: (calling(), sorted(set(built)))


def taken_reference(x: Array, *, known: Any) -> Any:
    return (2 * x, ["true"]) if known else (-3 * x, ["false"])


for name, known in (("true", True), ("false", False), ("one", 1), ("zero", 0)):
    smart_cond.behaviour(
        f"python-{name}",
        lambda inputs: [inputs.normal(64, 64)],
        matching(taken_reference),
        prepare=taken,
        known=known,
    )


def by_a_tensor(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    """Prepare two conditions in a graph: one that is fed, which becomes an operation, and a constant one, which does
    not."""
    with own_graph(context) as graph:
        (start, other), feeds = stand_ins([x, y])
        condition = v1.placeholder(tf.bool, [])

        def chosen() -> Any:
            return context.function.smart_cond(condition, lambda: start * other, lambda: start - other)

        fed = compiled(context, chosen)
        before = len(graph.get_operations())
        constant = context.function.smart_cond(tf.constant(True), lambda: start, lambda: start - other)
        built = [operation.type for operation in graph.get_operations()[before:]]
    session = session_of(graph)

    def call() -> Any:
        values = [fetched(session.run(fed, {**feeds, condition: value}), fed) for value in (True, False)]
        return values, constant is start, built

    return call


smart_cond.behaviour(
    "fed-in-a-graph",
    lambda inputs: [inputs.normal(32, 16), inputs.normal(16)],
    matching(lambda x, y: ([x * y, x - y], True, ["Const"])),
    prepare=by_a_tensor,
)


def in_a_function(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a function that is traced once. Its argument's values decide which branch runs."""

    def follow(rows: Any) -> Any:
        return context.function.smart_cond(tf.reduce_sum(rows) > 0, lambda: rows * 2, lambda: rows - 1)

    traced = tf.function(follow, autograph=False)
    return context.compiled(lambda: [traced(x), traced(-x)])


smart_cond.behaviour(
    "in-a-function",
    lambda inputs: [inputs.uniform(5, 4, low=0.5)],
    matching(lambda x: [2 * x, -x - 1]),
    prepare=in_a_function,
)


def constants_and_errors(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        module = context.function
        known = [module.smart_constant_value(value) for value in (True, False, 1, 0)]
        with own_graph(context):
            of_tensors = [module.smart_constant_value(tf.constant(False)) is not None]
            of_tensors.append(module.smart_constant_value(v1.placeholder(tf.bool, [])) is None)
        errors = [
            refusal(lambda: module.smart_cond(True, 1, lambda: x)),
            refusal(lambda: module.smart_cond(True, lambda: x)),
            refusal(lambda: module.smart_constant_value("true")),
        ]
        case = module.smart_case([(False, lambda: x), (True, lambda: x * 3)], default=lambda: x, exclusive=True)
        return [bool(value) for value in known], of_tensors, errors, case

    return call


smart_cond.behaviour(
    "constants-cases-and-errors",
    lambda inputs: [inputs.normal(6)],
    matching(lambda x: ([True, False, True, False], [True, True], ["TypeError"] * 3, 3 * x)),
    prepare=constants_and_errors,
)


# TensorFlow never had the study's name. Every TestCase inherits unittest's method, which is spelled differently.
assert_equal = Function("tf.test.TestCase.assert_equal", alias_of="tf.test.TestCase.assertEqual")


def asserting(*pairs: Callable[..., tuple[Any, Any]]) -> Prepare:
    """Return a ``prepare`` that makes pairs from the arrays and returns the error that the assertion raises for each
    pair."""

    def prepare(context: Context, *arrays: Any) -> Callable[[], Any]:
        tester = tf.test.TestCase()

        def outcome(pair: Callable[..., tuple[Any, Any]]) -> str:
            return refusal(lambda: context.function(tester, *pair(*arrays)))

        return lambda: ([outcome(pair) for pair in pairs], *arrays)

    return prepare


def raising(*expected: str) -> Callable[..., None]:
    return matching(lambda *arrays: (list(expected), *arrays))


assert_equal.behaviour(
    "computed-scalars",
    lambda inputs: [inputs.normal(64, 64)],
    raising("nothing", "AssertionError", "nothing"),
    prepare=asserting(
        lambda x: (tf.reduce_max(x), -tf.reduce_min(-x)),
        lambda x: (tf.reduce_max(x), tf.reduce_min(x)),
        lambda x: (tf.reduce_sum(x * 0), 0.0),
    ),
)
assert_equal.behaviour(
    "int64-scalars",
    lambda inputs: [inputs.integers(30)],
    raising("nothing", "AssertionError"),
    dtype="int64",
    prepare=asserting(
        lambda x: (tf.reduce_sum(x + 1), tf.reduce_sum(x) + 30),
        lambda x: (tf.reduce_sum(x), tf.reduce_sum(x) + 1),
    ),
)
assert_equal.behaviour(
    "shapes-and-dtypes",
    lambda inputs: [inputs.normal(4, 5)],
    raising("nothing", "nothing", "AssertionError", "nothing", "AssertionError"),
    prepare=asserting(
        lambda x: ((4, 5), x.shape),
        lambda x: ([5, 4], tf.transpose(x).shape.as_list()),
        lambda x: (x.shape, tf.transpose(x).shape),
        lambda x: (tf.float32, (x + 1).dtype),
        lambda x: (tf.float64, (x + 1).dtype),
    ),
)
assert_equal.behaviour(
    "lists-of-computed-values",
    lambda inputs: [inputs.integers(6)],
    raising("nothing", "AssertionError"),
    dtype="int64",
    prepare=asserting(
        lambda x: ((x * 2).numpy().tolist(), [2 * number for number in x.numpy().tolist()]),
        lambda x: ((x * 2).numpy().tolist(), (x * 2 + 1).numpy().tolist()),
    ),
)
assert_equal.behaviour(
    "text-from-a-tensor",
    lambda inputs: [inputs.normal(2)],
    raising("nothing", "AssertionError"),
    prepare=asserting(
        lambda x: (x.dtype.name, "float32"),
        lambda x: (str(x.shape), "(3,)"),
    ),
)
assert_equal.behaviour(
    "whole-arrays-have-no-one-truth",
    lambda inputs: [inputs.normal(3)],
    raising("ValueError", "AssertionError"),
    prepare=asserting(lambda x: (x, x), lambda x: (x.shape, [4])),
    refuses=True,
)

FUNCTIONS: list[Function] = [smart_cond, assert_equal]
