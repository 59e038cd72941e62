"""Graph mode as a case needs it: a graph and a session of its own, on the forced device.

``in_session`` makes a ``prepare`` of a function that builds a graph from placeholders; ``own_graph``
and ``session_of`` are for cases that build and run in ways of their own. Nothing of them is left
behind: a graph is entered for as long as it is built and is nobody's default after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Check, Context, Prepare
from runners.suite.checks import TOLERANCES, Tolerance, compare
from runners.tensorflow.placement.sessions import fetched, unsoftened

v1 = tf.compat.v1


@contextmanager
def own_graph(context: Context) -> Iterator[Any]:
    """A new graph, entered; what is built meanwhile stands on the device."""
    with tf.Graph().as_default() as graph, tf.device(context.device):
        yield graph


def session_of(graph: Any) -> Any:
    """A session that refuses what the device cannot run."""
    return v1.Session(graph=graph, config=unsoftened())


def host(tensor: Any) -> Any:
    """The NumPy array that a session is fed for a tensor; any other value stays as it is."""
    return tensor.numpy() if isinstance(tensor, tf.Tensor) else tensor


def compiled(context: Context, build: Callable[[], Any]) -> Any:
    """The result of ``build``, as one compiled operation where the device demands it; no Python is converted for it."""
    return context.compiled(tf.autograph.experimental.do_not_convert(build))()


def stand_ins(arguments: Any) -> tuple[list[Any], dict[Any, Any]]:
    """A placeholder for every array among the arguments, and what to feed for them."""
    feeds: dict[Any, Any] = {}
    tensors = []
    for argument in arguments:
        if isinstance(argument, tf.Tensor):
            placeholder = v1.placeholder(argument.dtype, argument.shape)
            feeds[placeholder] = host(argument)
            tensors.append(placeholder)
        else:
            tensors.append(argument)
    return tensors, feeds


def initialised(graph: Any, feeds: Any = None) -> Any:
    """A session in which the graph's variables, local ones too, have their first values."""
    with graph.as_default():
        start = [v1.global_variables_initializer(), v1.local_variables_initializer()]
    session = session_of(graph)
    session.run(start, feeds)
    return session


def in_session(build: Callable[..., Any]) -> Prepare:
    """``build(on, *tensors, **options)`` makes the graph and returns its fetches; what is timed runs them."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            tensors, feeds = stand_ins(arguments)
            fetches = build(context, *tensors, **options)
        session = initialised(graph, feeds)
        return lambda: fetched(session.run(fetches, feeds), fetches)

    return prepare


def new_variable(name: str, initial: Any, *shape: int, **options: Any) -> Any:
    """A variable from a tensor, or of a shape from an initialiser."""
    given = list(shape) if callable(initial) else None
    return v1.get_variable(name, given, initializer=initial, use_resource=True, **options)


def refusal(call: Callable[[], Any]) -> str:
    """The name of what a call raises, or ``nothing``."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def same(observed: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """For a ``check``: the values of an observed array, within the tolerance of float32."""
    np.testing.assert_allclose(observed.values, expected, rtol=tolerance, atol=tolerance)


def matching(reference: Callable[..., Any], dtype: str = "float32", tolerance: Tolerance | None = None) -> Check:
    """A ``check`` that compares all that was returned, for functions that themselves return nothing to compare."""

    def check(observed: Any, *arguments: Any, **options: Any) -> None:
        compare(observed, reference(*arguments, **options), dtype, tolerance or TOLERANCES[dtype])

    return check
