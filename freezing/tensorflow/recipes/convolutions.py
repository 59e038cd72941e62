"""Recipes of convolutions in one, two and three dimensions, and of their gradients."""

from __future__ import annotations

from freezing.tensorflow.recipe import Arguments, Draw, Recipe, recipe

X = "input inputs x value"
W = "filter filters kernel"

_CONVOLUTIONS = (
    {"padding": "SAME"},
    {"padding": "SAME", "strides": 2},
    {"padding": "SAME", "dilations": 2},
    {"padding": "valid"},
    {"padding": "same"},
    {"padding": "same", "dilation_rate": 2},
)


def backward(name: str, input: tuple[int, ...], filter: tuple[int, ...], result: tuple[int, ...]) -> list[Recipe]:
    """Return the recipes of a convolution's gradients: by its input, by its filter, and of functions that take both.

    The arguments are shapes. A function that computes the gradient by one array takes only the shape of this array.
    """

    def rest(d: Draw) -> Arguments:
        return {"out_backprop": d.array(*result), "strides": [1] * len(input), "padding": "SAME"}

    return [
        recipe(f"{name}-input-back", lambda d: {"input_sizes": [*input], "filter": d.array(*filter), **rest(d)}),
        recipe(f"{name}-filter-back", lambda d: {"input": d.array(*input), "filter_sizes": [*filter], **rest(d)}),
        recipe(f"{name}-both-back", lambda d: {"input": d.array(*input), "filter": d.array(*filter), **rest(d)}),
    ]


RECIPES = [
    # In one, two and three dimensions, with a stride for each axis of the array, for each dimension, or one for all.
    recipe(
        "line",
        lambda d: {X: d.array(2, 8, 3), W: d.array(3, 3, 4), "strides stride": 1, "padding": "VALID"},
        *_CONVOLUTIONS,
    ),
    recipe("line-plain", lambda d: {X: d.array(2, 8, 3), W: d.array(3, 3, 4)}, *_CONVOLUTIONS),
    recipe(
        "plane",
        lambda d: {X: d.array(1, 6, 5, 2), W: d.array(3, 2, 2, 3), "strides": [1, 1, 1, 1], "padding": "VALID"},
        {"padding": "SAME"},
        {"padding": "SAME", "strides": [1, 2, 2, 1]},
        {"padding": "VALID", "dilations": [1, 2, 2, 1]},
    ),
    recipe("plane-plain", lambda d: {X: d.array(1, 6, 5, 2), W: d.array(3, 2, 2, 3)}, *_CONVOLUTIONS),
    recipe(
        "volume",
        lambda d: {X: d.array(1, 4, 5, 3, 2), W: d.array(2, 2, 2, 2, 3), "strides": [1, 1, 1, 1, 1], "padding": "SAME"},
        {"padding": "VALID"},
    ),
    recipe("volume-plain", lambda d: {X: d.array(1, 4, 5, 3, 2), W: d.array(2, 2, 2, 2, 3)}, {"padding": "same"}),
    recipe(
        "plane-dilated",
        lambda d: {"value input": d.array(1, 7, 6, 2), W: d.array(2, 2, 2, 3), "rate": 2, "padding": "SAME"},
        {"padding": "VALID"},
    ),
    recipe(
        "line-back",
        lambda d: {
            "input value x": d.array(2, 4, 3),
            "filters filter kernel": d.array(3, 2, 3),
            "output_shape": [2, 8, 2],
            "strides": 2,
        },
        {"padding": "SAME"},
    ),
    recipe(
        "plane-back",
        lambda d: {
            "input value x": d.array(1, 3, 3, 3),
            "filters filter kernel": d.array(2, 2, 2, 3),
            "output_shape": [1, 6, 6, 2],
            "strides": [1, 2, 2, 1],
        },
        {"padding": "SAME"},
    ),
    recipe(
        "plane-back-plain",
        lambda d: {
            "inputs x": d.array(1, 3, 3, 3),
            "kernel": d.array(2, 2, 2, 3),
            "strides": 2,
            "output_shape": [1, 6, 6, 2],
        },
        {"padding": "same"},
    ),
    recipe(
        "volume-back",
        lambda d: {
            "input value x": d.array(1, 2, 2, 2, 3),
            "filters filter kernel": d.array(2, 2, 2, 2, 3),
            "output_shape": [1, 4, 4, 4, 2],
            "strides": [1, 2, 2, 2, 1],
        },
    ),
    recipe(
        "plane-dilated-back",
        lambda d: {
            "value": d.array(1, 6, 6, 3),
            "filters": d.array(2, 2, 2, 3),
            "output_shape": [1, 6, 6, 2],
            "rate": 2,
            "padding": "SAME",
        },
    ),
    recipe(
        "depthwise",
        lambda d: {
            X: d.array(1, 6, 5, 2),
            "filter kernel depthwise_kernel": d.array(3, 2, 2, 2),
            "strides": [1, 1, 1, 1],
            "padding": "SAME",
        },
        {"padding": "VALID"},
    ),
    recipe(
        "depthwise-plain",
        lambda d: {"inputs x": d.array(1, 6, 5, 2), "kernel depthwise_kernel": d.array(3, 2, 2, 2)},
        {"padding": "same"},
        {"padding": "valid", "strides": 2},
    ),
    recipe(
        "separable",
        lambda d: {
            "input": d.array(1, 6, 5, 2),
            "depthwise_filter": d.array(3, 2, 2, 2),
            "pointwise_filter": d.array(1, 1, 4, 3),
            "strides": [1, 1, 1, 1],
            "padding": "SAME",
        },
        {"padding": "VALID"},
    ),
    recipe(
        "separable-plain",
        lambda d: {
            "inputs x": d.array(1, 6, 5, 2),
            "depthwise_kernel": d.array(3, 2, 2, 2),
            "pointwise_kernel": d.array(1, 1, 4, 3),
        },
        {"padding": "same"},
    ),
    *backward("plane", (1, 6, 5, 2), (3, 2, 2, 3), (1, 6, 5, 3)),
    *backward("depthwise", (1, 6, 5, 2), (3, 2, 2, 2), (1, 6, 5, 4))[:2],
    *backward("volume", (1, 4, 4, 3, 2), (2, 2, 2, 2, 3), (1, 4, 4, 3, 3)),
    recipe(
        "dilation",
        lambda d: {
            "input value": d.array(1, 6, 5, 2),
            "filter filters kernel": d.array(2, 2, 2),
            "strides": [1, 1, 1, 1],
            "padding": "SAME",
            "rates dilations": [1, 1, 1, 1],
            "data_format": "NHWC",
        },
        {"padding": "VALID"},
    ),
    recipe(
        "dilation-back",
        lambda d: {
            "input": d.array(1, 6, 5, 2),
            "filter": d.array(2, 2, 2),
            "out_backprop": d.array(1, 6, 5, 2),
            "strides": [1, 1, 1, 1],
            "rates": [1, 1, 1, 1],
            "padding": "SAME",
        },
    ),
]
