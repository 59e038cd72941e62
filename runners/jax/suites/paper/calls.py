"""Ways to call a function, for cases that need more than a plain call.

Each is a ``prepare`` of a case, or returns one: ``jitted`` (compiled as a whole), ``gradient`` (forward and backward),
``tangent`` (forward mode), ``in_vmap`` (once for each member of the arrays' first axis), ``using`` (options whose names
the case itself uses, such as ``dtype``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from runners.suite.cases import Context, Prepare
from runners.suite.sequences import aligned


def jitted(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call under ``jax.jit``. Arrays are its arguments. Plain values and options are constants."""
    compiled = jax.jit(_of_arrays(context, arguments, options))
    return context.compiled(lambda: compiled(*_arrays(arguments)))


def gradient(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a backward pass. Its upstream gradient is the last argument. It returns ``[result, gradient of each
    floating argument]``."""
    *called, upstream = arguments
    wanted = [index for index, argument in enumerate(called) if _is_floating(argument)]

    def function(*floating: Any) -> Any:
        given = dict(aligned(wanted, floating))
        return context.function(*(given.get(index, argument) for index, argument in enumerate(called)), **options)

    def forward_and_backward(floating: Any, upstream: Any) -> list[Any]:
        result, backward = jax.vjp(function, *floating)
        return [result, *backward(upstream)]

    both = jax.jit(forward_and_backward)
    return context.compiled(lambda: both([called[index] for index in wanted], upstream))


def tangent(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a forward-mode derivative of a function of one array. The last argument is the direction. It returns
    ``[result, tangent]``."""
    x, direction = arguments
    both = jax.jit(lambda x, direction: list(jax.jvp(partial(context.function, **options), (x,), (direction,))))
    return context.compiled(lambda: both(x, direction))


def in_vmap(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call under ``jax.vmap`` over the first axis of every array."""
    mapped = jax.vmap(_of_arrays(context, arguments, options))
    return context.compiled(lambda: mapped(*_arrays(arguments)))


def using(**fixed: Any) -> Prepare:
    """Return a ``prepare`` with further options, whose names ``Function.value`` itself uses."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        return context.compiled(partial(context.function, *arguments, **fixed, **options))

    return prepare


def _arrays(arguments: Any) -> list[Any]:
    return [argument for argument in arguments if isinstance(argument, jax.Array)]


def _is_floating(argument: Any) -> bool:
    return isinstance(argument, jax.Array) and bool(jnp.issubdtype(argument.dtype, jnp.inexact))


def _of_arrays(context: Context, arguments: Any, options: Any) -> Callable[..., Any]:
    """Return the function with only the arrays as its arguments. All other arguments are fixed."""

    def function(*arrays: Any) -> Any:
        following = iter(arrays)
        given = [next(following) if isinstance(argument, jax.Array) else argument for argument in arguments]
        return context.function(*given, **options)

    return function
