"""Cases of feeds and fetches of a session: ``tf.compat.v1.placeholder`` and ``tf.Tensor.eval``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs, Prepare
from runners.suite.checks import Expected
from runners.tensorflow.placement.sessions import fetched
from runners.tensorflow.suites.paper.graphing import compiled, own_graph, refusal, same, session_of, stand_ins
from runners.tensorflow.suites.paper.sessions import SUMMED

evaluate = Function("tf.Tensor.eval")


def evaluating(build: Callable[..., Any]) -> Prepare:
    def prepare(context: Context, *arguments: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            tensors, feeds = stand_ins(arguments)
            result = compiled(context, lambda: build(*tensors))
        session = session_of(graph)
        return lambda: fetched(context.function(result, feeds, session), result)

    return prepare


evaluate.value(
    "float32-matmul-128x128",
    lambda inputs: [inputs.normal(128, 128) / 8, inputs.normal(128, 128)],
    reference=np.matmul,
    prepare=evaluating(tf.matmul),
    tolerance=SUMMED,
)
evaluate.value(
    "float64", lambda inputs: [inputs.normal(6, 5)], dtype="float64", reference=np.tanh, prepare=evaluating(tf.tanh)
)
evaluate.value(
    "bfloat16", lambda inputs: [inputs.normal(6, 5)], dtype="bfloat16", reference=abs, prepare=evaluating(tf.abs)
)
evaluate.value(
    "int32-sum-to-a-scalar",
    lambda inputs: [inputs.integers(7, 5, dtype="int32")],
    dtype="int32",
    reference=lambda x: Expected(x.sum(), "int32"),
    prepare=evaluating(tf.reduce_sum),
)
evaluate.value(
    "bool", lambda inputs: [inputs.normal(9)], reference=lambda x: x > 0, prepare=evaluating(lambda x: x > 0)
)
evaluate.value(
    "no-elements", lambda inputs: [inputs.normal(3, 0)], reference=lambda x: x.T, prepare=evaluating(tf.transpose)
)


def in_the_default_session(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare two calls without a session argument. The first raises an error, because there is no default session. The
    second uses the default session."""
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([x])
        result = start * start
    session = session_of(graph)

    def call() -> Any:
        before = refusal(lambda: context.function(result, feeds))
        with session.as_default():
            within = fetched(context.function(result, feeds), result)
        return before, within

    return call


def check_default(observed: Any, x: Any) -> None:
    before, within = observed
    assert before == "ValueError", f"without a session: {before}"
    same(within, x * x)


evaluate.behaviour(
    "default-session", lambda inputs: [inputs.normal(8, 4)], check_default, prepare=in_the_default_session
)
evaluate.value(
    "nan-and-infinities",
    lambda inputs: [np.array([np.nan, np.inf, -np.inf, 1.5])],
    reference=abs,
    prepare=evaluating(tf.abs),
)


placeholder = Function("tf.compat.v1.placeholder")


def held(build: Callable[..., Any], shape: Any = ()) -> Prepare:
    """Return a ``prepare`` that feeds a placeholder and runs what ``build`` makes from it. Without ``shape``, the
    placeholder has the argument's shape."""

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            start = context.function(x.dtype, x.shape if shape == () else shape)
            end = compiled(context, lambda: build(start))
        session, values = session_of(graph), x.numpy()
        return lambda: fetched(session.run(end, {start: values}), end)

    return prepare


def tripled(x: Any) -> Any:
    return x * 3


for kind in ("float32", "float64", "float16", "bfloat16", "complex64"):
    placeholder.value(
        f"{kind}-128x64", lambda inputs: [inputs.normal(128, 64)], dtype=kind, reference=tripled, prepare=held(tripled)
    )


def counts(kind: str) -> Callable[[Inputs], Any]:
    return lambda inputs: [inputs.integers(9, 4, low=0, high=80, dtype=kind)]


for kind in ("int32", "int64", "uint8"):
    placeholder.value(kind, counts(kind), dtype=kind, reference=tripled, prepare=held(tripled))
placeholder.value(
    "bool",
    lambda inputs: [inputs.booleans(8, 3)],
    dtype="bool",
    reference=np.logical_not,
    prepare=held(tf.math.logical_not),
)
placeholder.value(
    "rows-unknown",
    lambda inputs: [inputs.normal(21, 6)],
    reference=lambda x: x.mean(0),
    prepare=held(lambda x: tf.reduce_mean(x, 0), shape=[None, 6]),
)
placeholder.value(
    "shape-unknown",
    lambda inputs: [inputs.normal(4, 3, 2)],
    reference=lambda x: [3 * x, np.array([4, 3, 2], "int32")],
    prepare=held(lambda x: [3 * x, tf.shape(x)], shape=None),
)
placeholder.value(
    "gradient",
    lambda inputs: [inputs.normal(12, 5)],
    reference=lambda x: [3 * x * x],
    prepare=held(lambda x: tf.gradients(x**3, [x])),
)


def outside_a_graph(context: Context, x: Any) -> Callable[[], Any]:
    with own_graph(context) as graph:
        start = context.function(x.dtype, [None, 3], name="start")
        end = start + 1
    session = session_of(graph)

    def call() -> Any:
        names = {
            "eager": refusal(lambda: context.function(tf.float32)),
            "not fed": refusal(lambda: session.run(end)),
            "another shape fed": refusal(lambda: session.run(end, {start: np.ones((2, 4), "float32")})),
        }
        static = (start.shape.as_list(), start.dtype.name, start.name, start.op.type)
        return names, static, fetched(session.run(end, {start: x.numpy()}), end)

    return call


def check_outside(observed: Any, x: Any) -> None:
    names, static, values = observed
    wanted = {"eager": "RuntimeError", "not fed": "InvalidArgumentError", "another shape fed": "ValueError"}
    assert names == wanted, names
    assert list(static) == [[None, 3], "float32", "start:0", "Placeholder"], static
    same(values, x + 1)


placeholder.behaviour(
    "errors-and-static-shape", lambda inputs: [inputs.normal(4, 3)], check_outside, prepare=outside_a_graph
)
placeholder.value(
    "nan-and-infinities",
    lambda inputs: [np.array([np.nan, np.inf, -np.inf, 1.5])],
    reference=lambda x: -x,
    prepare=held(lambda x: -x),
)

FUNCTIONS: list[Function] = [evaluate, placeholder]
