"""Ways of calling: what a frozen or recorded call does with its function: call it, or differentiate it once or twice.

A way takes the function and the parts of a written call, and returns the call. Nothing imports TensorFlow before it is
used, because the cases are listed without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from runners.suite.recording.replay import arrays_in
from runners.suite.sequences import aligned

Way = Callable[..., Callable[[], Any]]


def plain(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Callable[[], Any]:
    """The call itself."""
    return partial(function, *arguments, **options)


def gradient(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any], wanted: Sequence[int], weights: Sequence[Any]
) -> Callable[[], Any]:
    """Forward and backward: the gradients of a weighted sum of the results.

    ``wanted`` are the places of the arrays to differentiate by, counted through the arguments and then the options;
    ``weights`` has an array for each array of the result, and None for one that has no gradient.
    """
    import tensorflow as tf

    kinds = (tf.Tensor, tf.Variable)
    given = list(arrays_in((arguments, options), kinds))
    inputs = [given[place] for place in wanted]

    def call() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            results = list(arrays_in(function(*arguments, **options), kinds))
        weighted = [(result, weight) for result, weight in aligned(results, weights) if weight is not None]
        slopes = tape.gradient(
            [result for result, _ in weighted], inputs, [tf.cast(weight, result.dtype) for result, weight in weighted]
        )
        return _dense(slopes)

    return call


def second_order(
    function: Any,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    wanted: Sequence[int],
    weights: Sequence[Any],
    directions: Sequence[Any],
) -> Callable[[], Any]:
    """The gradients of the product of the first gradients with ``directions``, which has an array for each input."""
    import tensorflow as tf

    first = gradient(function, arguments, options, wanted, weights)
    given = list(arrays_in((arguments, options), (tf.Tensor, tf.Variable)))
    inputs = [given[place] for place in wanted]

    def call() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            slopes = first()
        return _dense(tape.gradient(slopes, inputs, list(directions)))

    return call


def _dense(slopes: Sequence[Any]) -> list[Any]:
    """The gradients as arrays: that of a lookup comes as the rows that were looked up, in any order."""
    import tensorflow as tf

    return [tf.convert_to_tensor(slope) if isinstance(slope, tf.IndexedSlices) else slope for slope in slopes]


WAYS: Mapping[str, Way] = {"call": plain, "gradient": gradient, "second-order": second_order}
"""The ways by the names under which they are written."""
