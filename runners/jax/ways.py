"""The ways in which a frozen case uses its function: it calls, compiles or differentiates the function.

A way takes the function and the parts of a stored call, whose arrays may be traced, and returns the result. JAX is
imported only when a way is used, because cases are also listed without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from protocol.enums import GRADIENT
from runners.suite.recording.replay import arrays_in, changed
from runners.suite.sequences import aligned

Way = Callable[..., Any]

JIT = "jit"
"""The name of the way in which a function is called and compiled as a whole. The cases' tag has the same name."""
SECOND_ORDER = "second-order"
"""The name of the way in which a gradient is differentiated again. The cases' tag has the same name."""


def jitted(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The way ``jit``: call the function. The caller compiles this call."""
    return function(*arguments, **options)


def gradient(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any], wanted: Sequence[int], weights: Sequence[Any]
) -> list[Any]:
    """The way ``gradient``: differentiate a weighted sum of the results.

    ``wanted`` are the positions of the arrays to differentiate with respect to, counted through the arguments and then
    the options. ``weights`` has an array for each array of the result, and None for one that has no gradient.
    """
    import jax

    given = list(arrays_in((arguments, options), jax.Array))

    def of(*values: Any) -> list[Any]:
        arrays = iter([dict(aligned(wanted, values)).get(place, array) for place, array in enumerate(given)])
        positional, named = changed((list(arguments), options), lambda _: next(arrays), jax.Array)
        results = arrays_in(function(*positional, **named), jax.Array)
        return [result for result, weight in aligned(results, weights) if weight is not None]

    results, pull = jax.vjp(of, *(given[place] for place in wanted))
    own_weights = [weight for weight in weights if weight is not None]
    return list(pull([weight.astype(result.dtype) for result, weight in aligned(results, own_weights)]))


def second_order(
    function: Any,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    wanted: Sequence[int],
    weights: Sequence[Any],
    directions: Sequence[Any],
) -> list[Any]:
    """The way ``second-order``: differentiate a weighted sum of the first gradients. ``directions`` has the weights, an
    array for each gradient."""

    def of(*positional: Any, **named: Any) -> list[Any]:
        return gradient(function, positional, named, wanted, weights)

    return gradient(of, arguments, options, wanted, directions)


WAYS: Mapping[str, Way] = {JIT: jitted, GRADIENT: gradient, SECOND_ORDER: second_order}
"""The ways by the names that stored calls use."""
