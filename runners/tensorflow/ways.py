"""The ways in which a frozen or recorded call uses its function: it calls the function, or differentiates it once or
twice.

A way takes the function and the parts of a stored call, and returns the call. TensorFlow is imported only when a way is
used, because cases are also listed without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from runners.suite.recording.replay import arrays_in
from runners.suite.sequences import aligned

Way = Callable[..., Callable[[], Any]]


def plain(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Callable[[], Any]:
    """The way ``call``: call the function."""
    return partial(function, *arguments, **options)


def gradient(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any], wanted: Sequence[int], weights: Sequence[Any]
) -> Callable[[], Any]:
    """The way ``gradient``: differentiate a weighted sum of the results.

    ``wanted`` are the positions of the arrays to differentiate with respect to, counted through the arguments and then
    the options. ``weights`` has an array for each array of the result, and None for one that has no gradient.
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
    """The way ``second-order``: differentiate the product of the first gradients and ``directions``, which has an array
    for each input."""
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
    """Return the gradients as dense arrays. The gradient of a lookup consists of the selected rows, in any order."""
    import tensorflow as tf

    return [tf.convert_to_tensor(slope) if isinstance(slope, tf.IndexedSlices) else slope for slope in slopes]


WAYS: Mapping[str, Way] = {"call": plain, "gradient": gradient, "second-order": second_order}
"""The ways by the names that stored calls use."""
