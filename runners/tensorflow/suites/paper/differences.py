"""Cases of a function that checks gradients by finite differences: ``tf.compat.v1.test.compute_gradient_error``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs, Prepare
from runners.tensorflow.suites.paper.graphing import new_variable, own_graph, session_of, v1

Array = np.ndarray[Any, Any]

gradient_error = Function("tf.compat.v1.test.compute_gradient_error")


def differing(build: Callable[[Any], Any], **options: Any) -> Prepare:
    """Return a ``prepare`` for the largest difference between the gradient of ``build`` and its finite differences."""

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            start = v1.placeholder(x.dtype, x.shape)
            end = build(start)
        session, values = session_of(graph), x.numpy()

        def call() -> Any:
            # The function adds operations to the default graph.
            with graph.as_default(), tf.device(context.device), session.as_default():
                return float(
                    context.function(start, x.shape.as_list(), end, end.shape.as_list(), x_init_value=values, **options)
                ), x

        return call

    return prepare


def differing_of_two(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare the error for a product with another placeholder, which must be fed, and a variable, which must be
    initialized."""
    with own_graph(context) as graph:
        start, other = v1.placeholder(x.dtype, x.shape), v1.placeholder(x.dtype, x.shape)
        held = new_variable("held", tf.constant(3.0, x.dtype))
        end = start * start * other * held
    session, values = session_of(graph), x.numpy()

    def call() -> Any:
        with graph.as_default(), tf.device(context.device), session.as_default():
            shape = x.shape.as_list()
            found = context.function(
                start,
                shape,
                end,
                shape,
                x_init_value=values,
                init_targets=[held.initializer],
                extra_feed_dict={other: values + 1},
            )
        return float(found), x

    return call


def cube_with_half_its_slope(x: Any) -> Any:
    return tf.custom_gradient(lambda x: (x**3, lambda upstream: upstream * 1.5 * x**2))(x)


def within(low: float, high: float) -> Callable[..., None]:
    def check(observed: Any, x: Array) -> None:
        error, _ = observed
        assert low <= error <= high, f"the error is {error}, not from {low} to {high}"

    return check


def halved_slope(observed: Any, x: Array) -> None:
    """Check that the error is half of the largest slope."""
    error, _ = observed
    wanted = 1.5 * (x**2).max()
    assert abs(error - wanted) < 1e-3 * wanted, f"the error is {error}, expected {wanted}"


def small(*shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: [inputs.uniform(*shape, low=0.5, high=2.0)]


gradient_error.behaviour("right-float32", small(3, 4), within(1e-9, 5e-3), prepare=differing(lambda x: tf.tanh(x) * x))
gradient_error.behaviour(
    "right-float64", small(3, 4), within(1e-15, 1e-6), dtype="float64", prepare=differing(lambda x: tf.tanh(x) * x)
)
gradient_error.behaviour(
    "right-matmul-float64",
    small(3, 3),
    within(1e-15, 1e-6),
    dtype="float64",
    prepare=differing(lambda x: tf.matmul(x, x)),
)
gradient_error.behaviour(
    "wrong-gradient-float64", small(2, 3), halved_slope, dtype="float64", prepare=differing(cube_with_half_its_slope)
)
gradient_error.behaviour(
    "no-gradient-where-there-should-be-one",
    small(4),
    within(0.5, 4.5),
    dtype="float64",
    prepare=differing(lambda x: tf.stop_gradient(x * x) + 0 * x),
)
gradient_error.behaviour(
    "delta-float64",
    small(2, 3),
    # For cubes, the finite difference exceeds the derivative by the square of the step.
    within(0.0624, 0.0626),
    dtype="float64",
    prepare=differing(lambda x: x**3, delta=0.25),
)
gradient_error.behaviour(
    "fed-and-initialised-float64", small(2, 3), within(1e-15, 1e-6), dtype="float64", prepare=differing_of_two
)

FUNCTIONS: list[Function] = [gradient_error]
