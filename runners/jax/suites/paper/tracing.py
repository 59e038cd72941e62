"""Cases of functions that change how other functions are traced and compiled: ``disable_jit``, ``named_call``,
``core.eval_context``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from runners.jax.suites.paper.calls import in_vmap
from runners.jax.suites.paper.examples import equal_to, layer, layer_by_numpy, looped, looped_by_numpy
from runners.suite.cases import Context, Function
from runners.suite.sequences import aligned


def python_runs(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare two calls of a compiled function in the block. Each call runs the Python body, with concrete arrays."""

    def call() -> Any:
        seen: list[bool] = []

        def body(x: Any) -> Any:
            seen.append(isinstance(x, jax.core.Tracer))
            return x * 2 if x.sum() > -1e9 else x

        compiled = jax.jit(body)
        with context.function():
            once, again = compiled(x), compiled(x + 1)
        return [seen, once, again]

    return call


def compiled_again(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare calls after the block, and in a block with the argument False. Functions are traced once and compiled."""

    def call() -> Any:
        seen: list[bool] = []

        def body(x: Any) -> Any:
            seen.append(isinstance(x, jax.core.Tracer))
            return x * 2 + 1

        with context.function(False):
            switched_off = jax.jit(body)(x)
        with context.function():
            pass
        after = jax.jit(lambda x: body(x))
        return [[after(x), after(x), switched_off], seen]

    return call


def a_loop(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with context.function():
            return [looped(x)]

    return call


def a_choice(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with context.function():
            return jax.lax.cond(x[0] > 0, lambda: x + 1, lambda: x - 1)

    return call


def derived(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with context.function():
            return [jax.grad(jax.jit(lambda x: jnp.sin(x).sum()))(x), jax.vmap(jax.jit(lambda row: row.sum()))(x)]

    return call


disable_jit = Function("jax.disable_jit")
disable_jit.behaviour(
    "python-runs",
    lambda inputs: [inputs.normal(64, 128)],
    equal_to(lambda x: [[False, False], 2 * x, 2 * (x + 1)]),
    prepare=python_runs,
)
disable_jit.behaviour(
    "compiled-again",
    lambda inputs: [inputs.normal(64, 128)],
    equal_to(lambda x: [[2 * x + 1] * 3, [True, True]]),
    prepare=compiled_again,
)
disable_jit.behaviour("loop", lambda inputs: [inputs.normal(4, 20)], equal_to(looped_by_numpy), prepare=a_loop)
disable_jit.behaviour(
    "choice", lambda inputs: [inputs.normal(20)], equal_to(lambda x: x + np.where(x[0] > 0, 1, -1)), prepare=a_choice
)
disable_jit.behaviour(
    "gradient-and-vmap",
    lambda inputs: [inputs.normal(8, 20)],
    equal_to(lambda x: [np.cos(x), x.sum(1)]),
    prepare=derived,
)


def named(context: Context, *arguments: Any) -> Callable[[], Any]:
    call = context.function(layer, name="the layer")
    return context.compiled(lambda: call(*arguments))


def named_and_jitted(context: Context, *arguments: Any) -> Callable[[], Any]:
    compiled = jax.jit(context.function(layer, name="the layer"))
    return context.compiled(lambda: compiled(*arguments))


def named_in_vmap(context: Context, *arguments: Any) -> Callable[[], Any]:
    return in_vmap(replace(context, function=context.function(layer, name="layer")), *arguments)


def named_and_derived(context: Context, x: Any, weights: Any) -> Callable[[], Any]:
    def called(x: Any) -> Any:
        return context.function(lambda x: jnp.sin(x) * weights, name="sine")(x).sum()

    both = jax.jit(jax.value_and_grad(called))
    return context.compiled(lambda: list(both(x)))


def name_in_program(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare the names in the lowered program: the chosen name or, without one, the function's own name."""

    def sine_of_it(x: Any) -> Any:
        return jnp.sin(x)

    def call() -> Any:
        given, own = jax.jit(context.function(sine_of_it, name="chosen_name")), jax.jit(context.function(sine_of_it))
        texts = [jitted.lower(x).as_text(debug_info=True) for jitted in (given, own)]
        return ["chosen_name" in texts[0], "chosen_name" in texts[1], "sine_of_it" in texts[1], given(x)]

    return call


named_call = Function("jax.named_call", layer_by_numpy, prepare=named)
named_call.value("float32-64x128", lambda inputs: [inputs.normal(64, 128), 0.1 * inputs.normal(128, 32)])
named_call.value("float64", lambda inputs: [inputs.normal(6, 8), inputs.normal(8, 3)], dtype="float64")
named_call.value(
    "jitted", lambda inputs: [inputs.normal(64, 128), 0.1 * inputs.normal(128, 32)], prepare=named_and_jitted
)
named_call.value(
    "vmap",
    lambda inputs: [inputs.normal(4, 6, 8), inputs.normal(4, 8, 3)],
    prepare=named_in_vmap,
    reference=lambda x, weights: np.stack([layer_by_numpy(*pair) for pair in aligned(x, weights)]),
)
named_call.value(
    "gradient",
    lambda inputs: [inputs.normal(9, 8), inputs.normal(9, 8)],
    prepare=named_and_derived,
    reference=lambda x, weights: [(np.sin(x) * weights).sum(), np.cos(x) * weights],
)
named_call.behaviour(
    "name-in-program",
    lambda inputs: [inputs.normal(40)],
    equal_to(lambda x: [True, False, True, np.sin(x)]),
    prepare=name_in_program,
)


def concrete_within(transform: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a ``prepare`` for a transform that traces a function. In the context, computations with arrays over which
    the function closes run at once."""

    def prepare(context: Context, x: Any, held: Any) -> Callable[[], Any]:
        def call() -> Any:
            seen: list[bool] = []

            def body(x: Any) -> Any:
                with context.function():
                    total = jnp.sum(held * 2)
                after = jnp.sum(x)
                seen[:] = [isinstance(value, jax.core.Tracer) for value in (total, after)]
                return x * total

            return [transform(body)(x), seen]

        return call

    return prepare


eval_context = Function("jax.core.eval_context")
eval_context.behaviour(
    "in-jit",
    lambda inputs: [inputs.normal(64, 128), inputs.uniform(64)],
    equal_to(lambda x, held: [x * 2 * held.sum(), [False, True]]),
    prepare=concrete_within(jax.jit),
)
eval_context.behaviour(
    "in-vmap",
    lambda inputs: [inputs.normal(6, 20), inputs.uniform(9)],
    equal_to(lambda x, held: [x * 2 * held.sum(), [False, True]]),
    prepare=concrete_within(jax.vmap),
)
eval_context.behaviour(
    "in-gradient",
    lambda inputs: [inputs.normal(6, 20), inputs.uniform(9)],
    equal_to(lambda x, held: [np.full_like(x, 2 * held.sum()), [False, True]]),
    prepare=concrete_within(lambda body: jax.grad(lambda x: body(x).sum())),
)
eval_context.behaviour(
    "outside-of-all",
    lambda inputs: [inputs.normal(6, 20), inputs.uniform(9)],
    equal_to(lambda x, held: [x * 2 * held.sum(), [False, False]]),
    prepare=concrete_within(lambda body: body),
)


FUNCTIONS: list[Function] = [disable_jit, named_call, eval_context]
