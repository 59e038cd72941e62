"""Ways to call a function, for cases that need more than a plain call.

Each is a ``prepare`` of a case, or returns one: ``gradient`` (forward and backward with a tape), ``traced`` (in a
``tf.function``), ``of_unknown_shapes`` (in a ``tf.function`` without shapes), ``in_graph`` (a graph and a session),
``using`` (options whose names the case itself uses, such as ``dtype``), ``from_host`` (NumPy arrays as arguments),
``refusing`` (a call that must raise an error). ``graphing.py`` has further helpers for graph mode.
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
    """Prepare a backward pass. Its upstream gradient is the last argument. It returns ``[result, gradient of each
    floating argument]``."""
    *called, upstream = arguments
    wanted = [tensor for tensor in tensors(called) if tensor.dtype.is_floating or tensor.dtype.is_complex]

    def call() -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(wanted)
            result = context.function(*called, **options)
        return [result, *tape.gradient(result, wanted, upstream)]

    return context.compiled(call)


def traced(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call of a ``tf.function`` whose arguments are the arrays."""
    call = tf.function(partial(context.function, **options))
    return context.compiled(lambda: call(*arguments))


def of_unknown_shapes(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call of a ``tf.function`` that is traced without the shapes and ranks of its arrays."""
    arrays = tensors(arguments)

    def call(*unknown: Any) -> Any:
        following = iter(unknown)
        given = [next(following) if isinstance(argument, tf.Tensor) else argument for argument in arguments]
        return context.function(*given, **options)

    shapeless = tf.function(call, input_signature=[tf.TensorSpec(None, array.dtype) for array in arrays])
    return context.compiled(lambda: shapeless(*arrays))


def in_graph(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call in a graph of its own, with placeholders and a session. It is compiled if the device is a
    compiler."""

    def build(context: Context, *fed: Any, **options: Any) -> Any:
        return context.compiled(partial(context.function, *fed, **options))()

    return graphing.in_session(build)(context, *arguments, **options)


def using(**fixed: Any) -> Prepare:
    """Return a ``prepare`` with further options, whose names ``Function.value`` itself uses."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        return context.compiled(partial(context.function, *arguments, **fixed, **options))

    return prepare


def from_host(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call with NumPy arrays in host memory. The function itself must move them to the device."""
    return context.compiled(partial(context.function, *map(graphing.host, arguments), **options))


def refusing(*errors: type[Exception], **options: Any) -> Prepare:
    """Return a ``prepare`` for a behavior case whose call must raise one of these errors. Its check is ``refused``."""

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
    """Return every tensor among the arguments, in order."""
    if isinstance(arguments, tf.Tensor):
        return [arguments]
    if isinstance(arguments, (list, tuple)):
        return [array for argument in arguments for array in tensors(argument)]
    return []
