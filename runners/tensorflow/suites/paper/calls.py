"""The ways in which a case calls its function, where a plain call is not the point.

Each is a ``prepare`` for a case, or makes one: ``gradient`` (forward and backward on a tape), ``traced``
(within a ``tf.function``), ``of_unknown_shapes`` (one that knows no shapes), ``in_graph`` (a graph and
a session), ``using`` (options whose names a case keeps for itself, such as ``dtype``), ``from_host``
(arguments as NumPy arrays), ``refusing`` (what must raise). What else graph mode needs is in ``graphing.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from runners.suite.cases import Context, Prepare
from runners.suite.checks import Accepted
from runners.tensorflow.suites.paper import graphing


def gradient(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Backward from ``upstream``, the last argument: ``[result, gradient of each floating argument]``."""
    *called, upstream = arguments
    wanted = [tensor for tensor in tensors(called) if tensor.dtype.is_floating or tensor.dtype.is_complex]

    def call() -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(wanted)
            result = context.function(*called, **options)
        return [result, *tape.gradient(result, wanted, upstream)]

    return context.compiled(call)


def traced(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """As one ``tf.function``, whose arguments are the arrays."""
    call = tf.function(partial(context.function, **options))
    return context.compiled(lambda: call(*arguments))


def of_unknown_shapes(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """A ``tf.function`` traced without the shapes of its arrays, not even their ranks."""
    arrays = tensors(arguments)

    def call(*unknown: Any) -> Any:
        following = iter(unknown)
        given = [next(following) if isinstance(argument, tf.Tensor) else argument for argument in arguments]
        return context.function(*given, **options)

    shapeless = tf.function(call, input_signature=[tf.TensorSpec(None, array.dtype) for array in arrays])
    return context.compiled(lambda: shapeless(*arrays))


def in_graph(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """In a graph of its own, fed through placeholders, run by a session; compiled where the device demands it."""

    def build(context: Context, *fed: Any, **options: Any) -> Any:
        return context.compiled(partial(context.function, *fed, **options))()

    return graphing.in_session(build)(context, *arguments, **options)


def using(**fixed: Any) -> Prepare:
    """With further options, for those whose names ``Function.value`` takes itself."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        return context.compiled(partial(context.function, *arguments, **fixed, **options))

    return prepare


def from_host(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Arrays come from the host's memory, as NumPy has them: the function itself must move them."""
    return context.compiled(partial(context.function, *map(graphing.host, arguments), **options))


def refusing(*errors: type[Exception], **options: Any) -> Prepare:
    """For a behaviour case: the call must raise one of these. ``refused`` is the check that belongs to it."""

    def prepare(context: Context, *arguments: Any) -> Callable[[], str]:
        def call() -> str:
            try:
                context.function(*arguments, **options)
            except errors:
                return "refused"
            return "accepted"

        return call

    return prepare


def refused(observed: Any, *_: Any, **__: Any) -> None:
    if observed != "refused":
        raise Accepted("the call was accepted")


def tensors(arguments: Any) -> list[tf.Tensor]:
    """Every array among the arguments, in order."""
    if isinstance(arguments, tf.Tensor):
        return [arguments]
    if isinstance(arguments, (list, tuple)):
        return [array for argument in arguments for array in tensors(argument)]
    return []
