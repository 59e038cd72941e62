"""Recipes of quantization: values rounded to steps between two limits."""

from __future__ import annotations

import numpy as np

from freezing.tensorflow.recipe import recipe

RECIPES = [
    recipe(
        "stepped", lambda d: {"inputs": d.array(3, 4)}, {"min": -3, "max": 3, "num_bits": 4}, only="(?i)fake_?quant"
    ),
    recipe(
        "stepped-between",
        lambda d: {"inputs": d.array(3, 4), "min": np.asarray(-2.0), "max": np.asarray(2.5)},
        {"num_bits": 4},
        {"narrow_range": True},
    ),
    recipe("stepped-by-channel", lambda d: {"inputs": d.array(3, 4), "min": np.full(4, -2.0), "max": np.full(4, 2.5)}),
    recipe(
        "stepped-back",
        lambda d: {
            "gradients": d.array(3, 4),
            "inputs": d.array(3, 4),
            "min": np.asarray(-2.0),
            "max": np.asarray(2.5),
        },
    ),
    recipe(
        "stepped-back-by-channel",
        lambda d: {
            "gradients": d.array(3, 4),
            "inputs": d.array(3, 4),
            "min": np.full(4, -2.0),
            "max": np.full(4, 2.5),
        },
    ),
    recipe(
        "stepped-input",
        lambda d: {"input": d.array(3, 4), "input_min": np.asarray(-2.0), "input_max": np.asarray(2.5)},
        {"range_given": True},
        {"num_bits": 4},
    ),
    recipe(
        "stepped-input-of-bits",
        lambda d: {
            "input": d.array(3, 4),
            "input_min": np.asarray(-2.0),
            "input_max": np.asarray(2.5),
            "num_bits": np.asarray(6, np.int32),
        },
    ),
]
