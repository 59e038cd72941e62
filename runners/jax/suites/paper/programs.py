"""Cases of functions that make programs (jaxprs) from functions, and that analyze them: ``make_jaxpr``, ``typeof``
(formerly ``get_aval``), and the internal ``partial_eval``.

A program is judged by its results on the device, and not by its text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import api_util, linear_util

from runners.jax.suites.paper.examples import equal_to, layer, layer_by_numpy, looped, looped_by_numpy
from runners.suite.cases import Context, Function


def evaluated(program: Any, *arguments: Any) -> Any:
    return jax.core.eval_jaxpr(program.jaxpr, program.consts, *arguments)


def traced_and_run(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``prepare`` that makes the program of a function and runs it."""

    def prepare(context: Context, *arguments: Any) -> Callable[[], Any]:
        # Each call traces a new function. Otherwise JAX would return a cached program.
        return lambda: evaluated(context.function(lambda *given: function(*given))(*arguments), *arguments)

    return prepare


def of_a_constant(context: Context, x: Any, held: Any) -> Callable[[], Any]:
    """Prepare a program of a function that closes over an array. The array becomes a constant of the program."""

    def call() -> Any:
        program = context.function(lambda x: x * held)(x)
        return [len(program.consts), len(program.jaxpr.invars), *evaluated(program, x)]

    return call


def of_a_static_argument(context: Context, x: Any, power: int) -> Callable[[], Any]:
    """Prepare a program with a static argument, which can be used in Python's control flow."""

    def call() -> Any:
        program = context.function(lambda power, x: x * x if power == 2 else x, static_argnums=0)(power, x)
        return [len(program.jaxpr.invars), *evaluated(program, x)]

    return call


def with_its_shape(context: Context, x: Any, weights: Any) -> Callable[[], Any]:
    def call() -> Any:
        program, shapes = context.function(lambda *given: {"out": layer(*given)}, return_shape=True)(x, weights)
        return [list(shapes["out"].shape), str(shapes["out"].dtype), *evaluated(program, x, weights)]

    return call


def along_an_axis(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a program of a function that needs a named axis. The axis does not exist during tracing."""

    def call() -> Any:
        program = context.function(lambda x: x - jax.lax.psum(x, "members"), axis_env=[("members", len(x))])(x[0])
        return [jax.vmap(lambda member: evaluated(program, member)[0], axis_name="members")(x)]

    return call


make_jaxpr = Function("jax.make_jaxpr")
make_jaxpr.behaviour(
    "float32-64x128",
    lambda inputs: [inputs.normal(64, 128), 0.1 * inputs.normal(128, 32)],
    equal_to(lambda *given: [layer_by_numpy(*given)]),
    prepare=traced_and_run(layer),
)
make_jaxpr.behaviour(
    "float64",
    lambda inputs: [inputs.normal(6, 8), inputs.normal(8, 3)],
    equal_to(lambda *given: [layer_by_numpy(*given)], "float64"),
    dtype="float64",
    prepare=traced_and_run(layer),
)
make_jaxpr.behaviour(
    "bfloat16",
    lambda inputs: [inputs.normal(40)],
    equal_to(lambda x: [x * 4], "bfloat16"),
    dtype="bfloat16",
    prepare=traced_and_run(lambda x: x * 4),
)
make_jaxpr.behaviour(
    "of-gradient",
    lambda inputs: [inputs.normal(64, 128)],
    equal_to(lambda x: [np.cos(x) * 2]),
    prepare=traced_and_run(jax.grad(lambda x: 2 * jnp.sin(x).sum())),
)
make_jaxpr.behaviour(
    "loop", lambda inputs: [inputs.normal(9, 20)], equal_to(looped_by_numpy), prepare=traced_and_run(looped)
)
make_jaxpr.behaviour(
    "constant",
    lambda inputs: [inputs.normal(20), inputs.normal(20)],
    equal_to(lambda x, held: [1, 1, x * held]),
    prepare=of_a_constant,
)
make_jaxpr.behaviour(
    "static-argument",
    lambda inputs: [inputs.normal(20), 2],
    equal_to(lambda x, power: [1, x**power]),
    prepare=of_a_static_argument,
)
make_jaxpr.behaviour(
    "shape-returned",
    lambda inputs: [inputs.normal(6, 8), inputs.normal(8, 3)],
    equal_to(lambda *given: [[6, 3], "float32", layer_by_numpy(*given)]),
    prepare=with_its_shape,
)
make_jaxpr.behaviour(
    "named-axis", lambda inputs: [inputs.normal(4, 20)], equal_to(lambda x: [x - x.sum(0)]), prepare=along_an_axis
)


def described(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        found = context.function(x)
        return [list(found.shape), str(found.dtype), found.weak_type]

    return call


def seen_by(transform: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a ``prepare`` for the shape, dtype and weak type of the argument that a transform passes to its
    function."""

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        def call() -> Any:
            seen: list[Any] = []

            def body(x: Any) -> Any:
                found = context.function(x)
                seen[:] = [list(found.shape), str(found.dtype), found.weak_type]
                return x

            transform(body)(x)
            return seen

        return call

    return prepare


def refused(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> str:
        try:
            return f"taken: {context.function(x)}"
        except TypeError:
            return "refused"

    return call


# The function is now ``jax.typeof``, which is also charted.
get_aval = Function("jax._src.core.get_aval", prepare=described)
typeof = Function("jax.typeof", prepare=described)
for function in (get_aval, typeof):
    function.behaviour(
        "float32", lambda inputs: [inputs.normal(64, 128)], equal_to(lambda x: [[64, 128], "float32", False])
    )
    function.behaviour("python-float", lambda inputs: [2.5], equal_to(lambda x: [[], "float32", True]))
typeof.behaviour(
    "bfloat16", lambda inputs: [inputs.normal(5)], equal_to(lambda x: [[5], "bfloat16", False]), dtype="bfloat16"
)
typeof.behaviour(
    "float64", lambda inputs: [inputs.normal(5)], equal_to(lambda x: [[5], "float64", False]), dtype="float64"
)
typeof.behaviour(
    "complex64",
    lambda inputs: [1j * inputs.normal(5)],
    equal_to(lambda x: [[5], "complex64", False]),
    dtype="complex64",
)
typeof.behaviour(
    "int32-scalar", lambda inputs: [np.array(3, "int32")], equal_to(lambda x: [[], "int32", False]), dtype="int32"
)
typeof.behaviour("bool-empty", lambda inputs: [np.zeros((0, 3), bool)], equal_to(lambda x: [[0, 3], "bool", False]))
typeof.behaviour("python-int", lambda inputs: [7], equal_to(lambda x: [[], "int32", True]))
typeof.behaviour(
    "in-jit",
    lambda inputs: [inputs.normal(6, 20)],
    equal_to(lambda x: [[6, 20], "float32", False]),
    prepare=seen_by(lambda body: jax.jit(body)),
)
typeof.behaviour(
    "in-vmap",
    lambda inputs: [inputs.normal(6, 20)],
    equal_to(lambda x: [[20], "float32", False]),
    prepare=seen_by(jax.vmap),
)
typeof.behaviour("no-array", lambda inputs: ["text"], equal_to(lambda x: "refused"), prepare=refused, refuses=True)


def wrapped(function: Callable[..., Any], *arguments: Any) -> Any:
    """Wrap a function as JAX's own transforms do."""
    debug_info = api_util.debug_info("case", function, arguments, {})
    return linear_util.wrap_init(function, debug_info=debug_info)


def traced_by(function: Callable[..., Any]) -> Callable[..., Any]:
    def prepare(context: Context, *arguments: Any) -> Callable[[], Any]:
        def call() -> Any:
            types = [jax.typeof(argument) for argument in arguments]
            jaxpr, out_types, constants = context.function(wrapped(function, *arguments), types)
            shapes = [list(out_type.shape) for out_type in out_types]
            return [shapes, *jax.core.eval_jaxpr(jaxpr, constants, *arguments)]

        return call

    return prepare


def around_constant(context: Context, x: Any, held: Any) -> Callable[[], Any]:
    def call() -> Any:
        jaxpr, _, constants = context.function(wrapped(lambda x: [x * held], x), [jax.typeof(x)])
        return [len(constants), *jax.core.eval_jaxpr(jaxpr, constants, x)]

    return call


dynamic = Function("jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic")
dynamic.behaviour(
    "float32-64x128",
    lambda inputs: [inputs.normal(64, 128), 0.1 * inputs.normal(128, 32)],
    equal_to(lambda *given: [[[64, 32]], layer_by_numpy(*given)]),
    prepare=traced_by(lambda *given: [layer(*given)]),
)
dynamic.behaviour(
    "bfloat16-two-results",
    lambda inputs: [inputs.normal(40)],
    equal_to(lambda x: [[[40], [20]], -x, 2 * x[::2]], "bfloat16"),
    dtype="bfloat16",
    prepare=traced_by(lambda x: [-x, 2 * x[::2]]),
)
dynamic.behaviour(
    "loop",
    lambda inputs: [inputs.normal(9, 20)],
    equal_to(lambda x: [[[20]], *looped_by_numpy(x)]),
    prepare=traced_by(lambda x: [looped(x)]),
)
dynamic.behaviour(
    "constant",
    lambda inputs: [inputs.normal(20), inputs.normal(20)],
    equal_to(lambda x, held: [1, x * held]),
    prepare=around_constant,
)


def in_two_parts(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    """Prepare two programs: the first computes values that depend only on ``x``, the second computes the others from
    these and ``y``."""

    def function(x: Any, y: Any) -> Any:
        return jnp.cos(x), jnp.sin(x) - y

    def call() -> Any:
        program = jax.make_jaxpr(function)(x, y)
        known, unknown, waits, residuals = context.function.partial_eval_jaxpr_nounits(program, [False, True], False)
        first, *kept = evaluated(known, x)
        return [waits, len(residuals), first, *evaluated(unknown, *kept, y)]

    return call


def with_known_values(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    """Prepare a function with one known value and one type. The result that needs only the value is computed. A program
    remains for the other result."""

    def call() -> Any:
        partial_eval = context.function
        values = [partial_eval.PartialVal.known(x), partial_eval.PartialVal.unknown(jax.typeof(y))]
        function = wrapped(lambda x, y: [jnp.cos(x), jnp.sin(x) - y], x, y)
        jaxpr, results, constants = partial_eval.trace_to_jaxpr_nounits(function, values)
        left = jax.core.eval_jaxpr(jaxpr, constants, y)
        return [[result.is_known() for result in results], results[0].get_known(), *left]

    return call


def without_dead_code(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    """Prepare a program without the operations and arguments that the selected result does not need."""

    def call() -> Any:
        program = jax.make_jaxpr(lambda x, y: (jnp.sin(x) * 2, x @ y))(x, y)
        jaxpr, used = context.function.dce_jaxpr(program.jaxpr, [True, False])
        return [used, len(jaxpr.eqns), *jax.core.eval_jaxpr(jaxpr, program.consts, x)]

    return call


# The study names a module, whose main purpose is to split a computation by which arguments are known.
partial_eval = Function("jax._src.interpreters.partial_eval")
partial_eval.behaviour(
    "program-in-two-parts",
    lambda inputs: [inputs.normal(64, 128), inputs.normal(64, 128)],
    equal_to(lambda x, y: [[False, True], 1, np.cos(x), np.sin(x) - y]),
    prepare=in_two_parts,
)
partial_eval.behaviour(
    "known-values",
    lambda inputs: [inputs.normal(64, 128), inputs.normal(64, 128)],
    equal_to(lambda x, y: [[True, False], np.cos(x), np.sin(x) - y]),
    prepare=with_known_values,
)
partial_eval.behaviour(
    "dead-code",
    lambda inputs: [inputs.normal(16, 8), inputs.normal(8, 16)],
    equal_to(lambda x, y: [[True, False], 2, np.sin(x) * 2]),
    prepare=without_dead_code,
)

FUNCTIONS: list[Function] = [make_jaxpr, get_aval, typeof, dynamic, partial_eval]
