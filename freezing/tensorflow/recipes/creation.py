"""Recipes of functions that make arrays: constants, ranges, grids, windows, random numbers."""

from __future__ import annotations

import numpy as np

from freezing.tensorflow.recipe import recipe

SIZE = "shape dims size"

RECIPES = [
    recipe("filled", lambda d: {SIZE: [2, 3]}, {"dtype": "int32"}, {"dtype": "float16"}),
    recipe("filled-nothing", lambda d: {SIZE: [0, 3]}),
    recipe("filled-with", lambda d: {SIZE: [2, 3], "value fill_value": d.array()}),
    recipe("filled-with-a-number", lambda d: {SIZE: [2, 3], "value fill_value": 2.5}),
    recipe("filled-of-a-type", lambda d: {SIZE: [2, 3], "dtype": "float32"}),
    recipe("like", lambda d: {"a x input": d.array(3, 4), "fill_value": 2}),
    recipe(
        "identity",
        lambda d: {"N n num_rows size": 3},
        {"M num_columns": 4},
        {"k": 1},
        {"batch_shape": [2]},
        {"dtype": "int32"},
    ),
    recipe("range", lambda d: {"start": 1, "limit stop": 9, "delta step": 2}, {"dtype": "float32"}),
    recipe("range-of-arrays", lambda d: {"start": d.values_of(1), "limit": d.values_of(9), "delta": d.values_of(2)}),
    recipe("spaced", lambda d: {"start": 1.0, "stop": 4.0, "num": 7}, {"endpoint": False}, {"base": 2.0}),
    recipe("spaced-plain", lambda d: {"start": 1.0, "stop": 4.0}),
    recipe("spaced-arrays", lambda d: {"start": d.values_of(1), "stop": d.values_of(4), "num": 5}),
    recipe("spaced-rows", lambda d: {"start": d.values_of([1, 2]), "stop": d.values_of([4, 3]), "num": 5, "axis": 0}),
    recipe("quasi-random", lambda d: {"dim": 3, "num_results": 5}, {"skip": 2}),
    recipe("random", lambda d: {SIZE: [2, 3], "seed": 7}),
    recipe("random-by-a-seed", lambda d: {SIZE: [2, 3], "seed": [7, 8]}, {"minval": 1.0, "maxval": 2.0}),
    recipe("random-between", lambda d: {SIZE: [2, 3], "minval low": 1, "maxval high": 9}, {"seed": [7, 8]}),
    recipe("random-of", lambda d: {SIZE: [2, 3], "alpha lam": d.positive(3), "seed": [7, 8]}, {"beta": 2.0}),
    recipe("random-of-two", lambda d: {SIZE: [2, 3], "alpha": d.positive(3), "beta": d.positive(3), "seed": 7}),
    recipe(
        "random-counts",
        lambda d: {SIZE: [2, 3], "counts": d.values_of([4, 5, 6]), "probs probabilities": d.unit(3), "seed": [7, 8]},
        {"seed": 7},
    ),
    recipe("random-of-one", lambda d: {SIZE: [2, 3], "alpha lam rate mean means": 2.0, "seed": 7}),
    recipe("random-of-rates", lambda d: {"shape": [4], "rate lam alpha": d.positive(3)}),
    recipe("random-classes", lambda d: {"logits": d.array(2, 4), "num_samples": 5, "seed": [7, 8]}, {"seed": 7}),
    recipe("random-order", lambda d: {"value x": d.array(5, 2), "seed": [7, 8]}),
    recipe("dropped", lambda d: {"x inputs": d.array(4, 5), "rate level": 0.4}, {"seed": [7, 8]}),
    recipe("dropped-by-a-seed", lambda d: {"x": d.array(4, 5), "rate": 0.4, "seed": [7, 8]}),
    recipe("random-numbers-of", lambda d: {"*": [2, 3]}),
    recipe(
        "random-truncated",
        lambda d: {"shape": [5], "means": 0.0, "stddevs": 1.0, "minvals": -2.0, "maxvals": 2.0, "seed": [7, 8]},
    ),
    recipe(
        "random-truncated-arrays",
        lambda d: {
            "shape": [4],
            "means": d.array(4),
            "stdevs stddevs": d.positive(4),
            "minvals": np.full(4, -9.0),
            "maxvals": np.full(4, 9.0),
        },
    ),
    recipe(
        "candidates",
        lambda d: {
            "true_classes": d.ints(3, 1, high=9, dtype="int64"),
            "num_true": 1,
            "num_sampled": 4,
            "unique": True,
            "range_max": 9,
            "unigrams": [1.0] * 9,
        },
    ),
    recipe("shuffled-index", lambda d: {"index": d.ints(4, high=9), "seed": [1, 2, 3], "max_index": 9}),
    recipe("random-bits", lambda d: {"shape": [2, 3], "seed": [7, 8], "dtype": "uint32"}),
    recipe(
        "random-by-a-key",
        lambda d: {"shape": [2, 3], "key": np.array([7], np.uint64), "counter": np.array([1, 2], np.uint64), "alg": 1},
        {"minval": 0, "maxval": 9},
    ),
    recipe("seeds", lambda d: {"seed": [7, 8]}, {"data": 3}, {"num": 3}),
    recipe("seeds-folded", lambda d: {"seed": [7, 8], "data": 3}),
    recipe("converted-value", lambda d: {"value val object a": d.array(3, 4)}, {"dtype": "float16"}),
]
