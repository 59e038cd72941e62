"""Helpers for cases in graph mode: each case has its own graph and session, on the forced device.

``in_session`` returns a ``prepare`` for a function that builds a graph from placeholders. ``own_graph`` and
``session_of`` are for cases that build and run a graph differently. A graph is the default graph only while it is
built.
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
    """Enter a new graph. Operations that are built in the block are on the device."""
    with tf.Graph().as_default() as graph, tf.device(context.device):
        yield graph


def session_of(graph: Any) -> Any:
    """Return a session that raises an error for operations that the device cannot run."""
    return v1.Session(graph=graph, config=unsoftened())


def host(tensor: Any) -> Any:
    """Return the NumPy array that is fed for a tensor. Other values are returned unchanged."""
    return tensor.numpy() if isinstance(tensor, tf.Tensor) else tensor


def compiled(context: Context, build: Callable[[], Any]) -> Any:
    """Return the result of ``build``, as one compiled operation if the device is a compiler. AutoGraph does not convert
    it."""
    return context.compiled(tf.autograph.experimental.do_not_convert(build))()


def stand_ins(arguments: Any) -> tuple[list[Any], dict[Any, Any]]:
    """Return a placeholder for every array among the arguments, and the feeds for them."""
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
    """Return a session in which the graph's global and local variables are initialized."""
    with graph.as_default():
        start = [v1.global_variables_initializer(), v1.local_variables_initializer()]
    session = session_of(graph)
    session.run(start, feeds)
    return session


def in_session(build: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for a graph. ``build(on, *tensors, **options)`` makes the graph and returns its fetches.
    Each call runs the fetches."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        with own_graph(context) as graph:
            tensors, feeds = stand_ins(arguments)
            fetches = build(context, *tensors, **options)
        session = initialised(graph, feeds)
        return lambda: fetched(session.run(fetches, feeds), fetches)

    return prepare


def new_variable(name: str, initial: Any, *shape: int, **options: Any) -> Any:
    """Create a variable from a tensor, or with a shape and an initializer."""
    given = list(shape) if callable(initial) else None
    return v1.get_variable(name, given, initializer=initial, use_resource=True, **options)


def refusal(call: Callable[[], Any]) -> str:
    """Return the name of the error that a call raises, or ``nothing``."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def same(observed: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """Compare the values of an observed array with the tolerance of float32, in a ``check``."""
    np.testing.assert_allclose(observed.values, expected, rtol=tolerance, atol=tolerance)


def matching(reference: Callable[..., Any], dtype: str = "float32", tolerance: Tolerance | None = None) -> Check:
    """Return a ``check`` that compares everything that the case returns, for functions whose own result cannot be
    compared."""

    def check(observed: Any, *arguments: Any, **options: Any) -> None:
        compare(observed, reference(*arguments, **options), dtype, tolerance or TOLERANCES[dtype])

    return check
