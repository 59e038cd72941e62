"""Recipes of the layers of networks: pooling, normalization, activations, attention and embeddings."""

from __future__ import annotations

import numpy as np

from freezing.tensorflow.recipe import Arguments, Draw, recipe

X = "input inputs x value"
PLANE = np.arange(32.0).reshape(1, 4, 4, 2)[:, ::-1]
LARGEST = PLANE.reshape(1, 2, 2, 2, 2, 2).max(axis=(2, 4))
"""The largest value of each window of 2 by 2 of ``PLANE``."""
WINDOWS = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}


def largest(d: Draw) -> Arguments:
    """Return the input and the result of pooling by the maximum, over ``WINDOWS``."""
    return {"orig_input": d.values_of(PLANE), "orig_output": d.values_of(LARGEST)}


def lstm(d: Draw) -> Arguments:
    """Return the states and weights of an LSTM with 3 inputs and 4 units."""
    states = {"cs_prev": d.array(2, 4), "h_prev": d.array(2, 4)}
    return {**states, "w": d.array(7, 16), **{name: d.array(4) for name in ("wci", "wcf", "wco")}, "b": d.array(16)}


RECIPES = [
    recipe(
        "pool-line", lambda d: {X: d.array(2, 8, 3), "ksize": 2, "strides": 2, "padding": "VALID"}, {"padding": "SAME"}
    ),
    recipe(
        "pool-plane",
        lambda d: {X: d.distinct(1, 6, 5, 2), **WINDOWS},
        {"padding": "SAME"},
        {"ksize": [1, 3, 2, 1], "strides": [1, 1, 1, 1]},
    ),
    recipe(
        "pool-volume",
        lambda d: {X: d.array(1, 4, 4, 3, 2), "ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"},
        {"padding": "VALID"},
    ),
    recipe(
        "pool-by-window",
        lambda d: {"input": d.array(1, 6, 5, 2), "window_shape": [2, 2], "pooling_type": "MAX", "padding": "VALID"},
        {"pooling_type": "AVG"},
        {"padding": "SAME"},
    ),
    recipe(
        "pool-plain",
        lambda d: {"inputs x": d.array(1, 6, 5, 2), "pool_size": [2, 2]},
        {"strides": 1, "padding": "same"},
        {"pool_mode": "avg"},
    ),
    recipe(
        "pool-plain-volume",
        lambda d: {"inputs x": d.array(1, 4, 4, 3, 2), "pool_size": [2, 2, 2]},
        {"strides": [1, 1, 1], "padding": "same"},
    ),
    recipe(
        "pool-plain-line", lambda d: {"inputs x": d.array(2, 8, 3), "pool_size": 2}, {"strides": 1, "padding": "same"}
    ),
    recipe("pool-to-a-size", lambda d: {"inputs": d.array(1, 6, 6, 2), "output_size": 3}),
    recipe(
        "pool-fractional",
        lambda d: {"value": d.array(1, 6, 6, 2), "pooling_ratio": [1.0, 1.5, 1.5, 1.0]},
        {"deterministic": True, "seed": 3},
    ),
    recipe("pool-average-back", lambda d: {"orig_input_shape": [1, 4, 4, 2], "grad": d.array(1, 2, 2, 2), **WINDOWS}),
    recipe(
        "pool-average-volume-back",
        lambda d: {
            "orig_input_shape": [1, 4, 4, 2, 2],
            "grad": d.array(1, 2, 2, 1, 2),
            "ksize": [1, 2, 2, 2, 1],
            "strides": [1, 2, 2, 2, 1],
            "padding": "VALID",
        },
    ),
    recipe("pool-max-back", lambda d: {**largest(d), "grad": d.array(1, 2, 2, 2), **WINDOWS}),
    recipe("pool-max-twice-back", lambda d: {**largest(d), "grad": d.array(1, 4, 4, 2), **WINDOWS}),
    recipe(
        "normalised-batch",
        lambda d: {
            "x input": d.array(4, 3),
            "mean": d.array(3),
            "variance var": d.positive(3),
            "offset beta": d.array(3),
            "scale gamma": d.array(3),
            "variance_epsilon epsilon": 0.001,
            "axis": -1,
        },
    ),
    recipe(
        "normalised-planes",
        lambda d: {
            "x": d.array(2, 3, 4, 2),
            "scale": d.positive(2),
            "offset": d.array(2),
            "mean": d.array(2),
            "variance": d.positive(2),
            "is_training": False,
        },
        {"is_training": False, "epsilon": 0.1},
    ),
    recipe(
        "normalised-globally",
        lambda d: {
            "t input": d.array(2, 3, 4, 2),
            "m mean": d.array(2),
            "v variance": d.positive(2),
            "beta": d.array(2),
            "gamma": d.array(2),
            "variance_epsilon": 0.001,
            "scale_after_normalization": True,
        },
    ),
    recipe(
        "normalised-training",
        lambda d: {
            "x": d.array(2, 3, 4, 2),
            "scale": d.positive(2),
            "offset": d.array(2),
            "mean": d.array(0),
            "variance": d.array(0),
        },
    ),
    recipe(
        "local-response",
        lambda d: {"input": d.array(1, 3, 3, 6)},
        {"depth_radius": 2, "bias": 1.0, "alpha": 0.5, "beta": 0.5},
        only="(?i)lrn|local_response",
    ),
    recipe(
        "local-response-back",
        lambda d: {
            "input_grads": d.array(1, 2, 2, 4),
            "input_image": d.array(1, 2, 2, 4),
            "output_image": d.array(1, 2, 2, 4),
        },
    ),
    recipe("moments", lambda d: {"x": d.array(4, 3), "axes": [0]}, {"keepdims keep_dims": True}),
    recipe("moments-weighted", lambda d: {"x": d.array(4, 3), "axes": [0], "frequency_weights": d.positive(4, 3)}),
    recipe(
        "moments-counted",
        lambda d: {"counts": np.asarray(4.0), "mean_ss": d.array(3), "variance_ss": d.positive(3), "shift": d.array(3)},
    ),
    recipe(
        "group-normalised", lambda d: {"x": d.array(2, 6)}, {"axis": -1, "order": 2}, {"epsilon": 0.1}, only="normal"
    ),
    recipe("biased", lambda d: {"value x": d.array(2, 3, 4), "bias": d.array(4)}),
    recipe("bias-back", lambda d: {"out_backprop": d.array(2, 3, 4)}),
    recipe(
        "scores",
        lambda d: {"logits features x": d.array(3, 5)},
        {"axis": 0},
        {"alpha": 0.3},
        {"negative_slope": 0.3},
        {"approximate": True},
        {"beta": 2.0},
    ),
    recipe(
        "attention",
        lambda d: {"query": d.array(1, 3, 2, 4), "key": d.array(1, 5, 2, 4), "value": d.array(1, 5, 2, 4)},
        {"is_causal": True},
        {"scale": 0.5},
    ),
    recipe("dense-layer", lambda d: {"x": d.array(3, 4), "weights": d.array(4, 2), "biases": d.array(2)}),
    recipe(
        "gru-cell",
        lambda d: {
            "x": d.array(2, 3),
            "h_prev": d.array(2, 4),
            "w_ru": d.array(7, 8),
            "w_c": d.array(7, 4),
            "b_ru": d.array(8),
            "b_c": d.array(4),
        },
    ),
    recipe("lstm-cell", lambda d: {"x": d.array(2, 3), **lstm(d)}),
    recipe(
        "lstm-block",
        lambda d: {"seq_len_max": np.asarray(2, np.int64), "x": d.array(2, 2, 3), **lstm(d)},
    ),
    recipe(
        "padded-convolution",
        lambda d: {
            "input": d.array(1, 4, 4, 2),
            "paddings": [[0, 0], [1, 1], [1, 1], [0, 0]],
            "filter": d.array(2, 2, 2, 3),
            "mode": "REFLECT",
            "strides": [1, 1, 1, 1],
            "padding": "VALID",
        },
    ),
    recipe(
        "resized-convolution",
        lambda d: {
            "input": d.array(1, 3, 3, 2),
            "size": [4, 4],
            "paddings": [[0, 0], [1, 1], [1, 1], [0, 0]],
            "filter": d.array(2, 2, 2, 3),
            "mode": "REFLECT",
            "strides": [1, 1, 1, 1],
            "padding": "VALID",
        },
    ),
    recipe("regression", lambda d: {"inputs input": d.array(3, 5), "output_dtype": "float32"}),
    recipe("isotonic", lambda d: {"inputs": d.array(3, 5)}, {"decreasing": False}),
]
