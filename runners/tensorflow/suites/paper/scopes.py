"""Cases of ``tf.compat.v1.variable_scope``: the names of variables, sharing and inherited settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs, Prepare
from runners.suite.checks import Expected
from runners.tensorflow.placement.sessions import fetched
from runners.tensorflow.suites.paper.graphing import (
    initialised,
    matching,
    new_variable,
    own_graph,
    refusal,
    stand_ins,
    v1,
)

scope = Function("tf.compat.v1.variable_scope")


def scoping(build: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` that calls ``build(variable_scope, x)`` in a graph. ``build`` returns names or other
    findings, and tensors to run."""

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            (start,), feeds = stand_ins([x])
            findings, tensors = build(context.function, start)
        session = initialised(graph, feeds)
        return lambda: (findings, fetched(session.run(tensors, feeds), tensors))

    return prepare


def named(variable_scope: Any, x: Any) -> Any:
    with variable_scope("outer"):
        with variable_scope("inner"):
            weights = new_variable("weights", tf.constant_initializer(2.0), 64, 32)
            product = tf.matmul(x, weights)
        bias = new_variable("bias", tf.ones_initializer(), 32)
    return [weights.op.name, bias.op.name, product.op.name], [product + bias]


def reused(variable_scope: Any, x: Any) -> Any:
    def layer() -> Any:
        return x * new_variable("scale", tf.constant_initializer(4.0))

    with variable_scope("layer"):
        first = layer()
    with variable_scope("layer", reuse=True):
        second = layer()
    with variable_scope("layer", reuse=v1.AUTO_REUSE):
        third = layer() + new_variable("offset", tf.ones_initializer())
    with variable_scope("layer"):
        again = refusal(layer)
    with variable_scope("layer", reuse=True):
        unknown = refusal(lambda: new_variable("unknown", tf.ones_initializer()))
    names = [variable.op.name for variable in v1.global_variables()]
    return [names, again, unknown], [first, second, third]


def defaults(variable_scope: Any, x: Any) -> Any:
    with variable_scope("layer", initializer=tf.constant_initializer(5.0), dtype=tf.float64, use_resource=True):
        inherited = v1.get_variable("inherited", [3])
        own = v1.get_variable("own", [3], initializer=tf.zeros_initializer())
    return [inherited.dtype.name], [inherited.read_value(), own.read_value() + tf.cast(x, tf.float64)]


def regularised(variable_scope: Any, x: Any) -> Any:
    with variable_scope("layer", regularizer=lambda weights: tf.reduce_sum(weights * weights)):
        new_variable("weights", x * 1.0)
    losses = v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)
    return [len(losses)], losses


def made_unique(variable_scope: Any, x: Any) -> Any:
    held = []
    for _ in range(2):
        with variable_scope(None, default_name="layer"):
            held.append(new_variable("bias", tf.ones_initializer(), 3))
    with variable_scope("given", default_name="layer") as entered:
        held.append(new_variable("bias", tf.ones_initializer(), 3))
    return [[variable.op.name for variable in held], entered.name], [x + held[0] + held[1] + held[2]]


def with_a_getter(variable_scope: Any, x: Any) -> Any:
    """Create a variable in a scope with a custom getter."""

    def doubled(getter: Any, name: str, *arguments: Any, **options: Any) -> Any:
        return getter(name, *arguments, **options) * 2

    with variable_scope("layer", custom_getter=doubled):
        weights = new_variable("weights", tf.constant_initializer(1.5), 3)
    return [v1.global_variables()[0].op.name], [weights + x]


def cut_in_two(variable_scope: Any, x: Any) -> Any:
    """Create a variable in a scope with a partitioner, which divides it along its first axis. Together, the parts have
    the requested shape."""
    with variable_scope("layer", partitioner=v1.fixed_size_partitioner(2)):
        weights = v1.get_variable("weights", [4], initializer=tf.constant_initializer(1.5))
    names = [variable.op.name for variable in v1.global_variables()]
    return [names], [tf.concat(list(weights), 0) + x]


def constrained(variable_scope: Any, x: Any) -> Any:
    """Create a variable in a scope with a constraint, which an optimizer applies after each of its steps."""
    with variable_scope("layer", constraint=lambda weights: tf.clip_by_value(weights, -0.5, 0.5)):
        weights = new_variable("weights", tf.zeros_initializer(), 4)
    update = v1.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(weights * x))
    with tf.control_dependencies([update]):
        return [weights.op.name], [weights.read_value()]


def values(*shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: [inputs.normal(*shape)]


for name, build, shape, reference in (
    (
        "names-and-values-128x64",
        named,
        (128, 64),
        lambda x: (
            ["outer/inner/weights", "outer/bias", "outer/inner/MatMul"],
            [np.repeat(2 * x.sum(1, keepdims=True) + 1, 32, 1)],
        ),
    ),
    (
        "reuse",
        reused,
        (3,),
        lambda x: ([["layer/scale", "layer/offset"], "ValueError", "ValueError"], [4 * x, 4 * x, 4 * x + 1]),
    ),
    (
        "defaults-are-inherited",
        defaults,
        (3,),
        lambda x: (["float64"], [Expected(np.full(3, 5.0), "float64"), Expected(x, "float64")]),
    ),
    ("regularizer", regularised, (5,), lambda x: ([1], [np.asarray((x * x).sum())])),
    (
        "default-name-is-made-unique",
        made_unique,
        (3,),
        lambda x: ([["layer/bias", "layer_1/bias", "given/bias"], "given"], [x + 3]),
    ),
    (
        "partitioner",
        cut_in_two,
        (4,),
        lambda x: ([["layer/weights/part_0", "layer/weights/part_1"]], [x + 1.5]),
    ),
    ("constraint", constrained, (4,), lambda x: (["layer/weights"], [np.clip(-x, -0.5, 0.5)])),
    ("getter-of-ones-own", with_a_getter, (3,), lambda x: (["layer/weights"], [x + 3])),
):
    goes_on = "the optimizer goes on from the variable that its last step left" if name == "constraint" else None
    scope.behaviour(name, values(*shape), matching(reference), prepare=scoping(build), unrepeatable=goes_on)

FUNCTIONS: list[Function] = [scope]
