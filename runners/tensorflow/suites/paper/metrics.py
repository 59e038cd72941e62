"""Cases of metrics that are stored in variables: ``tf.compat.v1.metrics.accuracy``.

The metric has two local variables, total and count. The update adds a batch, and the value is their quotient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import TOLERANCES, Expected
from runners.tensorflow.placement.sessions import fetched
from runners.tensorflow.suites.paper.graphing import own_graph, refusal, same, session_of, stand_ins, v1

Array = np.ndarray[Any, Any]


def updated_twice(context: Context, labels: Any, predictions: Any, *weights: Any) -> Callable[[], Any]:
    """Prepare the value without any batch, the update by one batch, the update by the same batch with reversed
    predictions, and the value."""
    with own_graph(context) as graph:
        (given, guessed, *weighing), feeds = stand_ins([labels, predictions, *weights])
        value, update = context.function(given, guessed, *weighing)
        start = v1.local_variables_initializer()
    session = session_of(graph)
    turned = {**feeds, guessed: feeds[guessed][::-1]}

    def call() -> Any:
        session.run(start)
        values = [session.run(value), session.run(update, feeds), session.run(update, turned), session.run(value)]
        return [fetched(array, value) for array in values]

    return call


def right_share(labels: Array, predictions: Array, weights: Any = 1.0) -> Any:
    """Compute the accuracies by counting, in plain Python. They are always float32."""
    spread = np.broadcast_to(np.asarray(weights, "float64"), labels.shape)
    total = count = 0.0
    shares = [0.0]
    for guesses in (predictions, predictions[::-1]):
        for place in np.ndindex(labels.shape):
            total += float(spread[place]) * bool(labels[place] == guesses[place])
            count += float(spread[place])
        shares.append(total / count if count else 0.0)
    return [Expected(share, "float32") for share in [*shares, shares[-1]]]


def classes(*shape: int, dtype: str = "int64", kinds: int = 3) -> Callable[[Inputs], Any]:
    return lambda inputs: [inputs.integers(*shape, low=0, high=kinds, dtype=dtype) for _ in range(2)]


SHARE = TOLERANCES["float32"]
"""The tolerance of an accuracy, which is a float32 for labels of any dtype."""

accuracy = Function("tf.compat.v1.metrics.accuracy", right_share, prepare=updated_twice)
accuracy.value("int64-4096", classes(4096), dtype="int64", tolerance=SHARE)
accuracy.value("int32", classes(50, dtype="int32"), dtype="int32", tolerance=SHARE)
accuracy.value("uint8", classes(50, dtype="uint8"), dtype="uint8", tolerance=SHARE)
accuracy.value("bool", lambda inputs: [inputs.booleans(60), inputs.booleans(60)], dtype="bool", tolerance=SHARE)
accuracy.value(
    "float32-labels", lambda inputs: [np.floor(inputs.uniform(40, high=3)), np.floor(inputs.uniform(40, high=3))]
)
accuracy.value("matrix", classes(12, 7), dtype="int64", tolerance=SHARE)
accuracy.value("one-column", classes(33, 1), dtype="int64", tolerance=SHARE)
accuracy.value("one-example", lambda inputs: [np.array([2]), np.array([2])], dtype="int64", tolerance=SHARE)
accuracy.value(
    "weighted",
    lambda inputs: [*classes(64)(inputs), inputs.uniform(64, low=0.25, high=2.0)],
)
accuracy.value(
    "weights-mask",
    lambda inputs: [*classes(64)(inputs), inputs.booleans(64).astype("float32")],
)
accuracy.value("one-weight-a-row", lambda inputs: [*classes(9, 5)(inputs), inputs.uniform(9, 1, low=0.25, high=2.0)])
accuracy.value("one-weight-for-all", lambda inputs: [*classes(20)(inputs), np.asarray(0.5)])
accuracy.value("all-weights-zero", lambda inputs: [*classes(6)(inputs), np.zeros(6)])
accuracy.value("no-examples", classes(0), dtype="int64", tolerance=SHARE)


def collected(context: Context, labels: Any, predictions: Any) -> Callable[[], Any]:
    """Prepare a test of a metric of TensorFlow 1. Its variables must be in the collection of local variables, and its
    value and update tensors in the collections that the caller names. Wrong arguments must raise errors."""
    with own_graph(context) as graph:
        (given, guessed), feeds = stand_ins([labels, predictions])
        value, update = context.function(
            given, guessed, metrics_collections=["values"], updates_collections=["updates"]
        )
        found = [graph.get_collection("values") == [value], graph.get_collection("updates") == [update]]
        counts = [len(v1.local_variables()), len(v1.global_variables())]
        start = v1.local_variables_initializer()
        short = refusal(lambda: context.function(given, guessed[:2]))
    session = session_of(graph)

    def call() -> Any:
        session.run(start)
        return (
            found,
            counts,
            short,
            refusal(lambda: context.function(labels, predictions)),
            _run(session, update, feeds),
        )

    return call


def _run(session: Any, tensor: Any, feeds: Any) -> Any:
    return fetched(session.run(tensor, feeds), tensor)


def check_collected(observed: Any, labels: Array, predictions: Array) -> None:
    found, counts, short, eagerly, value = observed
    assert list(found) == [True, True], f"in the collections that were named: {found}"
    assert list(counts) == [2, 0], f"local and global variables: {counts}"
    assert short == "ValueError", f"fewer predictions than labels: {short}"
    assert eagerly == "RuntimeError", f"eager: {eagerly}"
    same(value, np.mean(labels == predictions))


accuracy.behaviour(
    "collections-and-errors", lambda inputs: [*classes(10)(inputs)], check_collected, prepare=collected, dtype="int64"
)
accuracy.value(
    "nan-equals-nothing",
    lambda inputs: [np.array([np.nan, 1.0, np.nan, 2.0, np.inf]), np.array([np.nan, 1.0, 3.0, np.nan, np.inf])],
)

FUNCTIONS: list[Function] = [accuracy]
