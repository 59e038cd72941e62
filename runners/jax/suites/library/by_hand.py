"""Handwritten cases, judged by NumPy, for the most used functions without a recipe.

Most of these functions take a function and return another one. ``portolan catalogue coverage`` counts their uses.
Importing this imports no framework.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function, just_call
from runners.suite.frozen import QUICK

Array = np.ndarray[Any, Any]

TAGS = ("by-hand", "judged-by-numpy", "plain", QUICK)
FUNCTIONS: list[Function] = []


def chart_in(
    functions: list[Function], name: str, reference: Callable[..., Any] | None = None, prepare: Any = just_call
) -> Function:
    function = Function(name, reference=reference, prepare=prepare)
    functions.append(function)
    return function


charted = partial(chart_in, FUNCTIONS)


def square_sines(values: Any) -> Any:
    """Compute sin² x for each element."""
    import jax.numpy as jnp

    return jnp.sin(values) ** 2


def sum_of_sines(values: Any) -> Any:
    import jax.numpy as jnp

    return jnp.sum(jnp.sin(values))


def transformed(function: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
    """Return a ``prepare`` that transforms ``function`` with the charted function, and calls the result."""

    def prepare(context: Context, *arrays: Any, **options: Any) -> Callable[[], Any]:
        made = context.function(function, **options)
        return lambda: made(*arrays)

    return prepare


def dot(one: Any, other: Any) -> Any:
    import jax.numpy as jnp

    return jnp.dot(one, other)


jit = charted("jax.jit", lambda values: np.sin(values) ** 2, transformed(square_sines))
jit.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
jit.value("bfloat16-3x4", lambda inputs: [inputs.normal(3, 4)], dtype="bfloat16", tags=TAGS)
vmap = charted("jax.vmap", lambda one, other: np.einsum("ij,ij->i", one, other), transformed(dot))
vmap.value("float32-rows", lambda inputs: [inputs.normal(5, 3), inputs.normal(5, 3)], tags=TAGS)
vmap.value(
    "float32-one-shared",
    lambda inputs: [inputs.normal(5, 3), inputs.normal(3)],
    reference=lambda one, other, in_axes: one @ other,
    in_axes=(0, None),
    tags=TAGS,
)
grad = charted("jax.grad", np.cos, transformed(sum_of_sines))
grad.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
value_and_grad = charted(
    "jax.value_and_grad", lambda values: (np.sum(np.sin(values)), np.cos(values)), transformed(sum_of_sines)
)
value_and_grad.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
for name in ("jax.jacfwd", "jax.jacobian", "jax.jacrev"):
    charted(name, lambda values: np.diag(np.sin(2 * values)), transformed(square_sines)).value(
        "float32-4", lambda inputs: [inputs.normal(4)], tags=TAGS
    )
for name in ("jax.checkpoint", "jax.remat"):
    charted(name, lambda values: np.sin(values) ** 2, transformed(square_sines)).value(
        "float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
    )
vectorize = charted(
    "jax.numpy.vectorize", lambda one, other, signature: np.einsum("ij,ij->i", one, other), transformed(dot)
)
vectorize.value(
    "float32-rows", lambda inputs: [inputs.normal(5, 3), inputs.normal(5, 3)], signature="(n),(n)->()", tags=TAGS
)


def with_a_rule(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a gradient with a handwritten rule, which returns five times the tangent."""
    import jax

    def rule(primals: Any, tangents: Any) -> Any:
        return square_sines(primals[0]), 5 * tangents[0]

    made = context.function(square_sines)
    made.defjvp(rule)
    gradient = jax.grad(lambda given: made(given).sum())
    return lambda: gradient(values)


charted("jax.custom_jvp", lambda values: np.full_like(values, 5.0), with_a_rule).value(
    "float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
)


def with_a_backward_rule(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a gradient with a handwritten backward rule, which returns five times the cotangent."""
    import jax

    made = context.function(square_sines)
    made.defvjp(lambda values: (square_sines(values), None), lambda _, cotangent: (5 * cotangent,))
    gradient = jax.grad(lambda values: made(values).sum())
    return lambda: gradient(values)


charted("jax.custom_vjp", lambda values: np.full_like(values, 5.0), with_a_backward_rule).value(
    "float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
)


def flattened(context: Context, one: Any, other: Any) -> Callable[[], Any]:
    return lambda: context.function({"a": one, "b": other})[0]


charted(
    "jax.flatten_util.ravel_pytree", lambda one, other: np.concatenate([one.ravel(), other.ravel()]), flattened
).value("float32-two", lambda inputs: [inputs.normal(3, 4), inputs.normal(2)], tags=TAGS)
