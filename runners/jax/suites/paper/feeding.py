"""Cases of functions with which a running program gets values from the host: ``lax.infeed``, which was removed, and its
recommended replacement ``experimental.io_callback``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from runners.suite.cases import Context, Function


def fed(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a compiled program that waits for an array. The host sends the array to the program's device."""

    def program(token: Any) -> Any:
        received, _ = context.function(token, shape=jax.ShapeDtypeStruct(x.shape, x.dtype))
        return received + 1

    compiled = jax.jit(program)
    sent = np.asarray(x)

    def call() -> Any:
        context.device.transfer_to_infeed([sent])
        return compiled(jax.lax.create_token())

    return call


infeed = Function("jax.lax.infeed", lambda x: x + 1, prepare=fed)
infeed.value("float32-64x128", lambda inputs: [inputs.normal(64, 128)])
infeed.value("int32", lambda inputs: [inputs.integers(40, dtype="int32")], dtype="int32")


def results_from_host(context: Context, x: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a compiled program that requests an array from the host and computes with it."""
    held = np.asarray(x)
    given = jax.ShapeDtypeStruct(x.shape, x.dtype)

    def program(y: Any) -> list[Any]:
        received = context.function(lambda: held, given, **options)
        return [received, received * y]

    compiled = jax.jit(program)
    return context.compiled(lambda: compiled(x))


def in_turn(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a program that requests one row after the other. The rows must arrive in order."""
    held, given = np.asarray(x), jax.ShapeDtypeStruct(x.shape[1:], x.dtype)

    left: list[Any] = []

    def step(total: Any, _: Any) -> Any:
        row = context.function(lambda: left.pop(0), given, ordered=True)
        return total * 0.5 + row, row

    compiled = jax.jit(lambda: jax.lax.scan(step, jnp.zeros(given.shape, given.dtype), None, length=len(held)))

    def call() -> Any:
        left[:] = held
        return list(compiled())

    return call


def rows_and_total(x: Any) -> Any:
    weights = 0.5 ** np.arange(len(x))[::-1]
    return [weights @ x, x]


def sent_back(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a program that sends its values to the host, which returns their cumulative sum."""
    compiled = jax.jit(lambda x: context.function(lambda here: np.cumsum(here, 0, here.dtype), x, x + 1) - x)
    return context.compiled(lambda: compiled(x))


io_callback = Function("jax.experimental.io_callback", lambda x, ordered=False: [x, x * x], prepare=results_from_host)
io_callback.value("float32-64x128", lambda inputs: [inputs.normal(64, 128)])
io_callback.value("float32-ordered", lambda inputs: [inputs.normal(16, 8)], ordered=True)
io_callback.value("int32", lambda inputs: [inputs.integers(40, low=1, dtype="int32")], dtype="int32")
io_callback.value("bfloat16", lambda inputs: [inputs.normal(40)], dtype="bfloat16")
io_callback.value(
    "argument",
    lambda inputs: [inputs.normal(16, 8)],
    prepare=sent_back,
    reference=lambda x: np.cumsum(x + 1, 0) - x,
)
io_callback.value("in-turn", lambda inputs: [inputs.normal(6, 20)], prepare=in_turn, reference=rows_and_total)
io_callback.value("nan-and-infinities", lambda inputs: [np.array([np.nan, 1.0, np.inf, -np.inf])])

FUNCTIONS: list[Function] = [infeed, io_callback]
