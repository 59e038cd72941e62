"""Cases of reverse mode: ``jax.vjp`` of elementwise functions, products, trees, loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy import special

from runners.suite.cases import Context, Function, MakeArguments, Prepare
from runners.suite.checks import require_refusal

vjp = Function("jax.vjp")


def of(function: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for a backward pass. The last argument is the cotangent. It returns ``[result, gradient of
    each argument]``."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        *primals, upstream = arguments

        def call() -> list[Any]:
            result, backward = context.function(function, *primals, **options)
            return [result, *backward(upstream)]

        return context.compiled(call)

    return prepare


def within_jit(function: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for a forward and a backward pass in one compiled program."""

    def prepare(context: Context, *arguments: Any) -> Callable[[], Any]:
        def both(*given: Any) -> list[Any]:
            *primals, upstream = given
            result, backward = context.function(function, *primals)
            return [result, *backward(upstream)]

        compiled = jax.jit(both)
        return context.compiled(lambda: compiled(*arguments))

    return prepare


Elementwise = tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]

# For each function: the function in JAX, the function in NumPy, and its derivative in NumPy, for arguments between 0.3
# and 3.
ELEMENTWISE: Mapping[str, Elementwise] = {
    "sin": (jnp.sin, np.sin, np.cos),
    "tan": (lambda x: jnp.tan(x / 3), lambda x: np.tan(x / 3), lambda x: 1 / (3 * np.cos(x / 3) ** 2)),
    "exp": (jnp.exp, np.exp, np.exp),
    "log": (jnp.log, np.log, lambda x: 1 / x),
    "sqrt": (jnp.sqrt, np.sqrt, lambda x: 0.5 / np.sqrt(x)),
    "tanh": (jnp.tanh, np.tanh, lambda x: 1 / np.cosh(x) ** 2),
    "atan": (jnp.arctan, np.arctan, lambda x: 1 / (1 + x**2)),
    "erf": (lax.erf, special.erf, lambda x: 2 / np.sqrt(np.pi) * np.exp(-(x**2))),
    "cube": (lambda x: x**3, lambda x: x**3, lambda x: 3 * x**2),
    "reciprocal": (lambda x: 1 / x, lambda x: 1 / x, lambda x: -1 / x**2),
    "sigmoid": (jax.nn.sigmoid, special.expit, lambda x: special.expit(x) * special.expit(-x)),
    "softplus": (jax.nn.softplus, lambda x: np.logaddexp(x, 0), special.expit),
    "absolute": (lambda x: jnp.abs(x - 1.5), lambda x: np.abs(x - 1.5), lambda x: np.sign(x - 1.5)),
    "chain": (
        lambda x: jnp.sin(x * jnp.exp(-x)),
        lambda x: np.sin(x * np.exp(-x)),
        lambda x: np.cos(x * np.exp(-x)) * (1 - x) * np.exp(-x),
    ),
}


def by_chain(value: Callable[[Any], Any], derivative: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda x, upstream: [np.asarray(value(x)), np.asarray(derivative(x) * upstream)]


vjp.value(
    "float32-256x256",
    lambda inputs: [inputs.normal(256, 256), inputs.normal(256, 256)],
    prepare=of(jnp.sin),
    reference=by_chain(np.sin, np.cos),
)
for name, (derived, value, derivative) in ELEMENTWISE.items():
    for dtype in ("float32", "float64"):
        vjp.value(
            f"{name}-{dtype}",
            lambda inputs: [inputs.uniform(12, 9, low=0.3, high=3), inputs.normal(12, 9)],
            dtype=dtype,
            prepare=of(derived),
            reference=by_chain(value, derivative),
        )
for name in ("sin", "exp", "cube"):
    derived, value, derivative = ELEMENTWISE[name]
    vjp.value(
        f"{name}-jitted",
        lambda inputs: [inputs.uniform(64, 32, low=0.3, high=3), inputs.normal(64, 32)],
        prepare=within_jit(derived),
        reference=by_chain(value, derivative),
    )
    vjp.value(
        f"{name}-scalar",
        lambda inputs: [inputs.uniform(low=0.3, high=3), inputs.normal()],
        prepare=of(derived),
        reference=by_chain(value, derivative),
    )
for dtype in ("float16", "bfloat16"):
    vjp.value(
        f"product-{dtype}",
        lambda inputs: [inputs.normal(12, 9), inputs.normal(12, 9), inputs.normal(12, 9)],
        dtype=dtype,
        prepare=of(lambda x, y: x * y),
        reference=lambda x, y, upstream: [x * y, upstream * y, upstream * x],
    )
# The derivative of x² is 2x without a conjugate.
vjp.value(
    "complex64",
    lambda inputs: [inputs.normal(20) + 1j * inputs.normal(20), inputs.normal(20) + 1j * inputs.normal(20)],
    dtype="complex64",
    prepare=of(lambda x: x**2),
    reference=lambda x, upstream: [x**2, 2 * x * upstream],
)
vjp.value(
    "matrix-product",
    lambda inputs: [inputs.normal(16, 8), inputs.normal(8, 12), inputs.normal(16, 12)],
    dtype="float64",
    prepare=of(jnp.matmul),
    reference=lambda x, y, upstream: [x @ y, upstream @ y.T, x.T @ upstream],
)
vjp.value(
    "broadcast",
    lambda inputs: [inputs.normal(12, 1), inputs.normal(9), inputs.normal(12, 9)],
    prepare=of(lambda x, y: x * y),
    reference=lambda x, y, upstream: [x * y, (upstream * y).sum(1, keepdims=True), (upstream * x).sum(0)],
)
vjp.value(
    "sum-of-rows",
    lambda inputs: [inputs.normal(12, 9), inputs.normal(12)],
    prepare=of(lambda x: jnp.sum(x**2, axis=1)),
    reference=lambda x, upstream: [(x**2).sum(1), 2 * x * upstream[:, None]],
)
vjp.value(
    "argument-without-part-in-it",
    lambda inputs: [inputs.normal(9), inputs.normal(4), inputs.normal(9)],
    prepare=of(lambda x, unused: 2 * x),
    reference=lambda x, unused, upstream: [2 * x, 2 * upstream, np.zeros_like(unused)],
)
vjp.value(
    "stopped",
    lambda inputs: [inputs.normal(9), inputs.normal(9)],
    prepare=of(lambda x: x * lax.stop_gradient(x)),
    reference=lambda x, upstream: [x**2, x * upstream],
)
vjp.value(
    "taken-by-index",
    lambda inputs: [inputs.normal(6), inputs.normal(4)],
    prepare=of(lambda x: x[np.array([1, 4, 1, 0])]),
    reference=lambda x, upstream: [
        x[[1, 4, 1, 0]],
        np.array([upstream[3], upstream[0] + upstream[2], 0.0, 0.0, upstream[1], 0.0]),
    ],
)
vjp.value(
    "two-results",
    lambda inputs: [inputs.normal(9), inputs.normal(9), (inputs.normal(9), inputs.normal())],
    prepare=of(lambda x, y: (x * y, jnp.sum(x))),
    reference=lambda x, y, upstream: [(x * y, np.sum(x)), upstream[0] * y + upstream[1], upstream[0] * x],
)
vjp.value(
    "dictionaries",
    lambda inputs: [{"w": inputs.normal(5, 4), "b": inputs.normal(5)}, {"y": inputs.normal(5)}],
    prepare=of(lambda tree: {"y": tree["w"] @ jnp.arange(4.0) + tree["b"]}),
    reference=lambda tree, upstream: [
        {"y": tree["w"] @ np.arange(4.0) + tree["b"]},
        {"w": np.outer(upstream["y"], np.arange(4.0)), "b": upstream["y"]},
    ],
)


def powered(x: Any) -> Any:
    """Compute a power with a loop whose initial state does not depend on the argument."""
    return lax.scan(lambda carry, _: (carry * x, None), jnp.ones_like(x), None, length=4)[0]


vjp.value(
    "scan",
    lambda inputs: [inputs.normal(9), inputs.normal(9)],
    prepare=of(powered),
    reference=lambda x, upstream: [x**4, 4 * x**3 * upstream],
)
vjp.value(
    "counted-loop",
    lambda inputs: [inputs.normal(9), inputs.normal(9)],
    prepare=of(lambda x: lax.fori_loop(0, 3, lambda step, carry: carry * x, x)),
    reference=lambda x, upstream: [x**4, 4 * x**3 * upstream],
)


def of_scalars(low: float) -> MakeArguments:
    return lambda inputs: [inputs.uniform(low=low, high=low + 1), inputs.normal()]


def branched(x: Any, upstream: Any) -> Any:
    return [np.asarray(x**2 if x > 0 else 3 * x), np.asarray(upstream * (2 * x if x > 0 else 3))]


for name, low in (("one-branch", 1.0), ("other-branch", -2.0)):
    vjp.value(
        name,
        of_scalars(low),
        prepare=of(lambda x: lax.cond(x > 0, lambda x: x**2, lambda x: 3 * x, x)),
        reference=branched,
    )
vjp.value(
    "chosen-by-element",
    lambda inputs: [inputs.normal(40), inputs.normal(40)],
    prepare=of(lambda x: jnp.where(x > 0, x**2, 3 * x)),
    reference=lambda x, upstream: [np.where(x > 0, x**2, 3 * x), np.where(x > 0, 2 * x, 3) * upstream],
)
vjp.value(
    "recomputed",
    lambda inputs: [inputs.normal(40), inputs.normal(40)],
    prepare=of(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))),
    reference=by_chain(lambda x: np.sin(np.sin(x)), lambda x: np.cos(np.sin(x)) * np.cos(x)),
)
vjp.value(
    "empty",
    lambda inputs: [inputs.normal(0, 3), inputs.normal(0, 3)],
    prepare=of(jnp.sin),
    reference=by_chain(np.sin, np.cos),
)


clipped = jax.custom_vjp(lambda x: 2 * x)
clipped.defvjp(lambda x: (2 * x, None), lambda kept, upstream: (jnp.clip(upstream, -0.5, 0.5),))

vjp.value(
    "rule-of-its-own",
    lambda inputs: [inputs.normal(40), inputs.normal(40)],
    prepare=of(clipped),
    reference=lambda x, upstream: [2 * x, np.clip(upstream, -0.5, 0.5)],
)


def with_report(context: Context, x: Any, upstream: Any) -> Callable[[], Any]:
    """Prepare a function that returns a report besides its result. The report has no derivative."""

    def call() -> list[Any]:
        result, backward, report = context.function(lambda x: (x**2, {"largest": jnp.max(x)}), x, has_aux=True)
        return [result, *backward(upstream), report]

    return context.compiled(call)


vjp.value(
    "has-aux",
    lambda inputs: [inputs.normal(40), inputs.normal(40)],
    prepare=with_report,
    reference=lambda x, upstream: [x**2, 2 * x * upstream, {"largest": np.max(x)}],
)


def twice(context: Context, x: Any, upstream: Any) -> Callable[[], Any]:
    """Prepare the derivative of a derivative."""

    def first(x: Any) -> Any:
        _, backward = jax.vjp(lambda x: x**3, x)
        return backward(jnp.ones_like(x))[0]

    return of(first)(context, x, upstream)


vjp.value(
    "second-derivative",
    lambda inputs: [inputs.normal(40), inputs.normal(40)],
    prepare=twice,
    reference=lambda x, upstream: [3 * x**2, 6 * x * upstream],
)


def rows_of_jacobian(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare one backward pass for each element of the result, all at once."""

    def call() -> Any:
        result, backward = context.function(lambda x: jnp.cumsum(x**2), x)
        return [result, *jax.vmap(backward)(jnp.eye(x.size, dtype=x.dtype))]

    return context.compiled(call)


vjp.value(
    "jacobian-by-vmap",
    lambda inputs: [inputs.normal(12)],
    prepare=rows_of_jacobian,
    reference=lambda x: [np.cumsum(x**2), np.tril(np.broadcast_to(2 * x, (12, 12)))],
)


def called_again(context: Context, x: Any, one: Any, other: Any) -> Callable[[], Any]:
    """Prepare two backward passes of one call."""

    def call() -> Any:
        result, backward = context.function(jnp.sin, x)
        return [result, *backward(one), *backward(other)]

    return context.compiled(call)


vjp.value(
    "way-back-twice",
    lambda inputs: [inputs.normal(40), inputs.normal(40), inputs.normal(40)],
    prepare=called_again,
    reference=lambda x, one, other: [np.sin(x), np.cos(x) * one, np.cos(x) * other],
)


def refusal(context: Context, x: Any, upstream: Any) -> Callable[[], Any]:
    def call() -> Any:
        _, backward = context.function(jnp.sin, x)
        try:
            backward(upstream)
        except Exception as error:
            return type(error).__name__
        return None

    return call


def assert_refused(error: Any, x: Any, upstream: Any) -> None:
    require_refusal(error, "TypeError", "ValueError")


vjp.behaviour(
    "other-shape-is-refused",
    lambda inputs: [inputs.normal(9), inputs.normal(4)],
    assert_refused,
    prepare=refusal,
    refuses=True,
)
vjp.behaviour(
    "whole-numbers-for-floating-ones-are-refused",
    lambda inputs: [inputs.normal(9), inputs.integers(9, dtype="int32")],
    assert_refused,
    prepare=refusal,
    refuses=True,
)

FUNCTIONS: list[Function] = [vjp]
