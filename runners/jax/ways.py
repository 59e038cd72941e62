"""Ways of calling: what a frozen case does with its function, beside calling it: compile it, differentiate it.

A way takes the function and the parts of a written call, whose arrays may be traced, and returns the result. Nothing
imports JAX before it is used, because the cases are listed without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from protocol.enums import GRADIENT
from runners.suite.recording.replay import arrays_in, changed
from runners.suite.sequences import aligned

Way = Callable[..., Any]

JIT = "jit"
"""The way, and the tag, of a call of a function that is compiled as a whole."""
SECOND_ORDER = "second-order"
"""The way, and the tag, of a gradient that is differentiated once more."""


def jitted(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The call itself: what compiles it is around it."""
    return function(*arguments, **options)


def gradient(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any], wanted: Sequence[int], weights: Sequence[Any]
) -> list[Any]:
    """Forward and backward: the gradients of a weighted sum of the results.

    ``wanted`` are the places of the arrays to differentiate by, counted through the arguments and then the options;
    ``weights`` has an array for each array of the result, and None for one that has no gradient.
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
    """The gradients of a weighted sum of the gradients; ``directions`` are its weights, an array for each of those."""

    def of(*positional: Any, **named: Any) -> list[Any]:
        return gradient(function, positional, named, wanted, weights)

    return gradient(of, arguments, options, wanted, directions)


WAYS: Mapping[str, Way] = {JIT: jitted, GRADIENT: gradient, SECOND_ORDER: second_order}
"""The ways by the names under which they are written."""
