"""What changes how functions are traced and compiled: ``disable_jit``, ``named_call``, ``core.eval_context``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from runners.jax.suites.paper.calls import in_vmap
from runners.jax.suites.paper.examples import equal_to, layer, layer_by_numpy, looped, looped_by_numpy
from runners.suite.cases import Function, On
from runners.suite.sequences import aligned


def python_runs(on: On, x: Any) -> Callable[[], Any]:
    """A compiled function is Python again: each call runs its body, on arrays that have values."""

    def call() -> Any:
        seen: list[bool] = []

        def body(x: Any) -> Any:
            seen.append(isinstance(x, jax.core.Tracer))
            return x * 2 if x.sum() > -1e9 else x

        compiled = jax.jit(body)
        with on.function():
            once, again = compiled(x), compiled(x + 1)
        return [seen, once, again]

    return call


def compiled_again(on: On, x: Any) -> Callable[[], Any]:
    """After the block, and where it is told not to, functions are traced once and compiled."""

    def call() -> Any:
        seen: list[bool] = []

        def body(x: Any) -> Any:
            seen.append(isinstance(x, jax.core.Tracer))
            return x * 2 + 1

        with on.function(False):
            switched_off = jax.jit(body)(x)
        with on.function():
            pass
        after = jax.jit(lambda x: body(x))
        return [[after(x), after(x), switched_off], seen]

    return call


def a_loop(on: On, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with on.function():
            return [looped(x)]

    return call


def a_choice(on: On, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with on.function():
            return jax.lax.cond(x[0] > 0, lambda: x + 1, lambda: x - 1)

    return call


def derived(on: On, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with on.function():
            return [jax.grad(jax.jit(lambda x: jnp.sin(x).sum()))(x), jax.vmap(jax.jit(lambda row: row.sum()))(x)]

    return call


disable_jit = Function("jax.disable_jit")
disable_jit.behaviour(
    "python-runs",
    lambda make: [make.normal(64, 128)],
    equal_to(lambda x: [[False, False], 2 * x, 2 * (x + 1)]),
    prepare=python_runs,
)
disable_jit.behaviour(
    "compiled-again",
    lambda make: [make.normal(64, 128)],
    equal_to(lambda x: [[2 * x + 1] * 3, [True, True]]),
    prepare=compiled_again,
)
disable_jit.behaviour("loop", lambda make: [make.normal(4, 20)], equal_to(looped_by_numpy), prepare=a_loop)
disable_jit.behaviour(
    "choice", lambda make: [make.normal(20)], equal_to(lambda x: x + np.where(x[0] > 0, 1, -1)), prepare=a_choice
)
disable_jit.behaviour(
    "gradient-and-vmap",
    lambda make: [make.normal(8, 20)],
    equal_to(lambda x: [np.cos(x), x.sum(1)]),
    prepare=derived,
)


def named(on: On, *arguments: Any) -> Callable[[], Any]:
    call = on.function(layer, name="the layer")
    return on.compiled(lambda: call(*arguments))


def named_and_jitted(on: On, *arguments: Any) -> Callable[[], Any]:
    compiled = jax.jit(on.function(layer, name="the layer"))
    return on.compiled(lambda: compiled(*arguments))


def named_in_vmap(on: On, *arguments: Any) -> Callable[[], Any]:
    return in_vmap(replace(on, function=on.function(layer, name="layer")), *arguments)


def named_and_derived(on: On, x: Any, weights: Any) -> Callable[[], Any]:
    def called(x: Any) -> Any:
        return on.function(lambda x: jnp.sin(x) * weights, name="sine")(x).sum()

    both = jax.jit(jax.value_and_grad(called))
    return on.compiled(lambda: list(both(x)))


def name_in_program(on: On, x: Any) -> Callable[[], Any]:
    """The name given, and without one the function's own, are in what the compiler gets."""

    def sine_of_it(x: Any) -> Any:
        return jnp.sin(x)

    def call() -> Any:
        given, own = jax.jit(on.function(sine_of_it, name="chosen_name")), jax.jit(on.function(sine_of_it))
        texts = [each.lower(x).as_text(debug_info=True) for each in (given, own)]
        return ["chosen_name" in texts[0], "chosen_name" in texts[1], "sine_of_it" in texts[1], given(x)]

    return call


named_call = Function("jax.named_call", layer_by_numpy, prepare=named)
named_call.value("float32-64x128", lambda make: [make.normal(64, 128), 0.1 * make.normal(128, 32)])
named_call.value("float64", lambda make: [make.normal(6, 8), make.normal(8, 3)], dtype="float64")
named_call.value("jitted", lambda make: [make.normal(64, 128), 0.1 * make.normal(128, 32)], prepare=named_and_jitted)
named_call.value(
    "vmap",
    lambda make: [make.normal(4, 6, 8), make.normal(4, 8, 3)],
    prepare=named_in_vmap,
    reference=lambda x, weights: np.stack([layer_by_numpy(*each) for each in aligned(x, weights)]),
)
named_call.value(
    "gradient",
    lambda make: [make.normal(9, 8), make.normal(9, 8)],
    prepare=named_and_derived,
    reference=lambda x, weights: [(np.sin(x) * weights).sum(), np.cos(x) * weights],
)
named_call.behaviour(
    "name-in-program",
    lambda make: [make.normal(40)],
    equal_to(lambda x: [True, False, True, np.sin(x)]),
    prepare=name_in_program,
)


def concrete_within(transform: Callable[[Any], Any]) -> Callable[..., Any]:
    """While a transform traces the function, arrays that it only refers to are computed with at once."""

    def prepare(on: On, x: Any, held: Any) -> Callable[[], Any]:
        def call() -> Any:
            seen: list[bool] = []

            def body(x: Any) -> Any:
                with on.function():
                    total = jnp.sum(held * 2)
                after = jnp.sum(x)
                seen[:] = [isinstance(each, jax.core.Tracer) for each in (total, after)]
                return x * float(total)

            return [transform(body)(x), seen]

        return call

    return prepare


eval_context = Function("jax.core.eval_context")
eval_context.behaviour(
    "in-jit",
    lambda make: [make.normal(64, 128), make.uniform(64)],
    equal_to(lambda x, held: [x * 2 * held.sum(), [False, True]]),
    prepare=concrete_within(jax.jit),
)
eval_context.behaviour(
    "in-vmap",
    lambda make: [make.normal(6, 20), make.uniform(9)],
    equal_to(lambda x, held: [x * 2 * held.sum(), [False, True]]),
    prepare=concrete_within(jax.vmap),
)
eval_context.behaviour(
    "in-gradient",
    lambda make: [make.normal(6, 20), make.uniform(9)],
    equal_to(lambda x, held: [np.full_like(x, 2 * held.sum()), [False, True]]),
    prepare=concrete_within(lambda body: jax.grad(lambda x: body(x).sum())),
)
eval_context.behaviour(
    "outside-of-all",
    lambda make: [make.normal(6, 20), make.uniform(9)],
    equal_to(lambda x, held: [x * 2 * held.sum(), [False, False]]),
    prepare=concrete_within(lambda body: body),
)


FUNCTIONS: list[Function] = [disable_jit, named_call, eval_context]
