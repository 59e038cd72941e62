"""The ways in which a case calls its function, where a plain call is not the point.

Each is a ``prepare`` for a case, or makes one: ``jitted`` (compiled as a whole), ``gradient`` (forward and
backward), ``tangent`` (forward mode), ``in_vmap`` (once for each member of the arrays' first axis),
``using`` (options whose names a case keeps for itself, such as ``dtype``).
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
    """Under ``jax.jit``, which gets the arrays; plain values and options are constants to it."""
    compiled = jax.jit(_of_arrays(context, arguments, options))
    return context.compiled(lambda: compiled(*_arrays(arguments)))


def gradient(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Backward from ``upstream``, the last argument: ``[result, gradient of each floating argument]``."""
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
    """Forward mode along ``direction``, the last argument, for the one argument before it: ``[result, tangent]``."""
    x, direction = arguments
    both = jax.jit(lambda x, direction: list(jax.jvp(partial(context.function, **options), (x,), (direction,))))
    return context.compiled(lambda: both(x, direction))


def in_vmap(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Under ``jax.vmap`` over the first axis of every array."""
    mapped = jax.vmap(_of_arrays(context, arguments, options))
    return context.compiled(lambda: mapped(*_arrays(arguments)))


def using(**fixed: Any) -> Prepare:
    """With further options, for those whose names ``Function.value`` takes itself."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        return context.compiled(partial(context.function, *arguments, **fixed, **options))

    return prepare


def _arrays(arguments: Any) -> list[Any]:
    return [argument for argument in arguments if isinstance(argument, jax.Array)]


def _is_floating(argument: Any) -> bool:
    return isinstance(argument, jax.Array) and bool(jnp.issubdtype(argument.dtype, jnp.inexact))


def _of_arrays(context: Context, arguments: Any, options: Any) -> Callable[..., Any]:
    """The function of its arrays alone, all else filled in."""

    def function(*arrays: Any) -> Any:
        following = iter(arrays)
        given = [next(following) if isinstance(argument, jax.Array) else argument for argument in arguments]
        return context.function(*given, **options)

    return function
