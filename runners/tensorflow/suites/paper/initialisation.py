"""Cases of initialization: ``tf.compat.v1.global_variables_initializer`` and ``is_variable_initialized``.

An initializer is an operation, so the cases compare the values of the variables after it has run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Check, Context, Function, Prepare
from runners.suite.checks import Expected
from runners.suite.optional import optional
from runners.suite.sequences import aligned
from runners.tensorflow.placement.sessions import fetched
from runners.tensorflow.suites.paper.graphing import (
    matching,
    new_variable,
    own_graph,
    refusal,
    same,
    session_of,
    stand_ins,
    v1,
)

stats = optional("scipy.stats")

Array = np.ndarray[Any, Any]

initializer = Function("tf.compat.v1.global_variables_initializer")


def initialising(build: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for a case whose variables ``build(*tensors)`` makes. The case runs the operation under
    test, and then reads the variables."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            tensors, feeds = stand_ins(arguments)
            reads = [variable.read_value() for variable in build(*tensors, **options)]
            start = context.function()
        session = session_of(graph)

        def call() -> Any:
            session.run(start, feeds)
            return fetched(session.run(reads, feeds), reads)

        return call

    return prepare


def filled(dtype: str) -> Callable[..., Any]:
    return lambda: [
        new_variable("zeros", tf.zeros_initializer(), 6, 5, dtype=dtype),
        new_variable("ones", tf.ones_initializer(), 7, dtype=dtype),
        new_variable("filled", tf.constant_initializer(3), 2, 3, dtype=dtype),
    ]


def filled_reference() -> Any:
    return [np.zeros((6, 5)), np.ones(7), np.full((2, 3), 3.0)]


def check_filled(kind: str) -> Check:
    return matching(lambda: [Expected(array, kind) for array in filled_reference()], kind)


for kind in ("float32", "float64", "float16", "bfloat16", "complex64", "int32", "int64"):
    initializer.behaviour(
        f"{kind}-constants", lambda inputs: [], check_filled(kind), prepare=initialising(filled(kind)), dtype=kind
    )
initializer.behaviour(
    "from-a-feed-256x256",
    lambda inputs: [inputs.normal(256, 256)],
    matching(lambda x: [x, x * 2]),
    prepare=initialising(lambda x: [new_variable("one", x), new_variable("other", x * 2)]),
)
initializer.behaviour(
    "identity-matrix",
    lambda inputs: [],
    matching(lambda: [2 * np.eye(5, 7)]),
    prepare=initialising(lambda: [new_variable("eye", tf.keras.initializers.Identity(2.0), 5, 7)]),
)


def chained(x: Any) -> Any:
    first = new_variable("first", v1.random_normal_initializer(seed=5), 8)
    return [first, new_variable("second", first.initial_value * 3 + x)]


def check_chained(observed: Any, x: Array) -> None:
    """Check that the first variable's random value is drawn once, for both variables."""
    first, second = observed
    same(second, 3 * first.values + x)
    assert len(np.unique(first.values)) == 8, "numbers repeat"


initializer.behaviour(
    "one-from-another", lambda inputs: [inputs.normal(8)], check_chained, prepare=initialising(chained)
)


def drawn() -> Any:
    return [
        new_variable("normal", v1.random_normal_initializer(1.0, 0.5, seed=7), 200, 50),
        new_variable("uniform", v1.random_uniform_initializer(-1.0, 3.0, seed=7), 200, 50),
        new_variable("truncated", v1.truncated_normal_initializer(0.0, 2.0, seed=7), 200, 50),
        new_variable("scaled", v1.variance_scaling_initializer(seed=7, distribution="uniform"), 200, 50),
    ]


def check_drawn(observed: Any) -> None:
    bound = np.sqrt(3 / 200)
    wanted = [
        stats.norm(1, 0.5),
        stats.uniform(-1, 4),
        stats.truncnorm(-2, 2, scale=2),
        stats.uniform(-bound, 2 * bound),
    ]
    for one, distribution in aligned(observed, wanted):
        assert (one.values.shape, one.dtype) == ((200, 50), "float32"), (one.values.shape, one.dtype)
        # A correct generator fails once in 10 million times.
        distance = stats.kstest(one.values.ravel().astype("float64"), distribution.cdf).statistic
        assert distance < 0.028, f"{distance:.4f} from what was to be drawn"


initializer.statistics("random-values", lambda inputs: [], check_drawn, prepare=initialising(drawn))


def orthogonal() -> Any:
    return [
        new_variable("square", v1.orthogonal_initializer(seed=3), 16, 16),
        new_variable("wide", v1.orthogonal_initializer(seed=4), 6, 20),
    ]


def check_orthogonal(observed: Any) -> None:
    for leaf in observed:
        product = leaf.values @ leaf.values.T
        np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-4)
    assert abs(observed[0].values - np.eye(16)).max() > 0.1, "the identity was drawn"


initializer.statistics("orthogonal-matrices", lambda inputs: [], check_orthogonal, prepare=initialising(orthogonal))


def before_and_again(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare reads before and after initialization. A second initialization restores the first values. Local variables
    are not initialized."""
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([x])
        held = new_variable("held", tf.zeros_initializer(), 6)
        local = new_variable(
            "local", tf.zeros_initializer(), 6, collections=[v1.GraphKeys.LOCAL_VARIABLES], trainable=False
        )
        added = v1.assign_add(held, start)
        reset = context.function()
        read = held.read_value()

    def call() -> Any:
        with session_of(graph) as session:
            before = refusal(lambda: session.run(read))
            session.run(reset)
            changed = fetched(session.run(added, feeds), added)
            session.run(reset)
            return before, changed, fetched(session.run(read), read), refusal(lambda: session.run(local))

    return call


initializer.behaviour(
    "before-and-again",
    lambda inputs: [inputs.normal(6)],
    matching(lambda x: ("FailedPreconditionError", x, np.zeros(6), "FailedPreconditionError")),
    prepare=before_and_again,
)


def without_variables(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with own_graph(context) as graph:
            none = context.function()
            named = [none.type, none.name]
        with session_of(graph) as session:
            nothing = session.run(none)
        return named, nothing, type(context.function()).__name__, x * 2

    return call


initializer.behaviour(
    "no-variables-and-eager",
    lambda inputs: [inputs.normal(3)],
    matching(lambda x: (["NoOp", "init"], None, "NoneType", 2 * x)),
    prepare=without_variables,
)


is_initialized = Function("tf.compat.v1.is_variable_initialized")


def asking_for_values(resource: bool) -> Prepare:
    """Return a ``prepare`` with three variables. Only the second one is initialized."""

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            (start,), feeds = stand_ins([x])
            held = [v1.get_variable(name, initializer=start, use_resource=resource) for name in ("a", "b", "c")]
            answers = [context.function(variable) for variable in held]
            sums = held[1] + start
            first = held[1].initializer
        session = session_of(graph)
        session.run(first, feeds)
        return lambda: fetched(session.run([*answers, sums], feeds), [*answers, sums])

    return prepare


def one_of_three(x: Array) -> Any:
    return [*(np.asarray(answer) for answer in (False, True, False)), 2 * x]


def all_of_them(context: Context, x: Any) -> Callable[[], Any]:
    with own_graph(context) as graph:
        (start,), feeds = stand_ins([x])
        held = v1.get_variable("held", initializer=start, use_resource=True)
        known = context.function(held)
    first = held.initializer

    def call() -> Any:
        with session_of(graph) as session:
            before = fetched(session.run(known), known)
            session.run(first, feeds)
            return [before, fetched(session.run(known), known)]

    return call


is_initialized.value(
    "one-of-three",
    lambda inputs: [inputs.normal(64, 64)],
    reference=one_of_three,
    prepare=asking_for_values(resource=True),
)
is_initialized.value(
    "references-of-old",
    lambda inputs: [inputs.normal(4, 3)],
    reference=one_of_three,
    prepare=asking_for_values(resource=False),
)
is_initialized.value(
    "int64",
    lambda inputs: [inputs.integers(4)],
    dtype="int64",
    reference=one_of_three,
    prepare=asking_for_values(resource=True),
)
is_initialized.value(
    "before-and-after",
    lambda inputs: [inputs.normal(8)],
    reference=lambda x: [np.asarray(False), np.asarray(True)],
    prepare=all_of_them,
)
is_initialized.value(
    "eager",
    lambda inputs: [inputs.normal(8)],
    reference=lambda x: Expected(True, "bool"),
    prepare=lambda context, x: _of_an_eager_one(context, x),
)


def _of_an_eager_one(context: Context, x: Any) -> Callable[[], Any]:
    held = tf.Variable(x)
    return lambda: context.function(held)


FUNCTIONS: list[Function] = [initializer, is_initialized]
