"""Recipes of raw operations that compute gradients or take other arrays that no public function takes."""

from __future__ import annotations

from freezing.tensorflow.recipe import recipe

RECIPES = [
    recipe("of-a-result", lambda d: {"y": d.unit(3, 4), "dy": d.array(3, 4)}),
    recipe(
        "of-features", lambda d: {"gradients": d.array(3, 4), "features outputs inputs": d.array(3, 4)}, {"alpha": 0.3}
    ),
    recipe("updated-rows", lambda d: {"x": d.array(4, 3), "i": [1, 3], "v": d.array(2, 3)}),
    recipe("matrix-inverse", lambda d: {"input": d.definite(3, 3)}, {"adjoint": True}, only="(?i)inverse|det|chol"),
    recipe("quantised-scores", lambda d: {"features": d.array(3, 4), "labels": d.shares(3, 4)}),
    recipe("quantised-classes", lambda d: {"features": d.array(3, 4), "labels": d.ints(3, high=4)}),
    recipe("mirror-padded", lambda d: {"input": d.array(4, 4), "paddings": [[1, 1], [0, 2]], "mode": "REFLECT"}),
    recipe("copied", lambda d: {"input": d.array(3, 4), "num_lower": 1, "num_upper": 0}),
    recipe("accumulated", lambda d: {"inputs": [d.array(3), d.array(3)], "shape": [3]}),
    recipe("listed", lambda d: {"input inputs values data": [d.array(3), d.array(2, 2)]}),
]
