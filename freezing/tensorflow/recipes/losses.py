"""Recipes of losses and metrics: predictions and true values, as numbers, probabilities, scores and sequences."""

from __future__ import annotations

import numpy as np

from freezing.tensorflow.recipe import recipe

TRUE = "y_true target labels targets onehot_labels multi_class_labels"
PREDICTED = "y_pred output logits predictions log_input"

RECIPES = [
    recipe(
        "values",
        lambda d: {TRUE: d.array(3, 4), PREDICTED: d.array(3, 4)},
        {"delta": 2.0},
        {"axis": 0},
        {"from_logits": True},
    ),
    recipe("values-empty", lambda d: {TRUE: d.array(0, 4), PREDICTED: d.array(0, 4)}),
    recipe(
        "shares",
        lambda d: {TRUE: d.shares(3, 4), PREDICTED: d.shares(3, 4)},
        {"label_smoothing": 0.1},
        {"from_logits": True},
    ),
    recipe(
        "one-hot",
        lambda d: {TRUE: d.one_hot(3, 4), PREDICTED: d.shares(3, 4)},
        {"from_logits": True},
        {"axis": -1},
        {"q": 0.5},
    ),
    recipe(
        "one-hot-scores",
        lambda d: {TRUE: d.one_hot(3, 4), PREDICTED: d.array(3, 4)},
        {"axis": 1},
        {"from_logits": True},
        {"k": 2},
    ),
    recipe(
        "binary",
        lambda d: {TRUE: d.values_of([[0, 1, 1], [1, 0, 1]]), PREDICTED: d.unit(2, 3)},
        {"from_logits": True},
        {"gamma": 3.0},
        {"threshold": 0.3},
        {"label_smoothing": 0.2},
    ),
    recipe("binary-weighted", lambda d: {TRUE: d.unit(2, 3), PREDICTED: d.array(2, 3), "pos_weight": 2.0}),
    recipe("classes", lambda d: {TRUE: d.ints(3, high=4), PREDICTED: d.array(3, 4)}, {"from_logits": True}, {"k": 2}),
    recipe(
        "classes-of-shares",
        lambda d: {TRUE: d.ints(3, high=4), PREDICTED: d.shares(3, 4)},
        {"ignore_class": 1},
        {"k": 2},
    ),
    recipe("classes-among", lambda d: {TRUE: d.ints(3, high=4), PREDICTED: d.distinct(3, 4), "k": 2}),
    recipe("signs", lambda d: {TRUE: d.values_of([[1, -1, 1], [-1, 1, -1]]), PREDICTED: d.array(2, 3)}),
    recipe("quality", lambda d: {"y_true": d.one_hot(3, 4), "y_pred": d.shares(3, 4), "q": 0.7}),
    recipe("planes", lambda d: {TRUE: d.unit(1, 4, 4, 2), PREDICTED: d.unit(1, 4, 4, 2)}),
    recipe("weighted", lambda d: {"labels": d.array(3, 4), "predictions": d.array(3, 4), "weights": 0.5}),
    recipe("scores-weighted", lambda d: {"labels": d.ints(3, high=4), "logits": d.array(3, 4), "weights": 0.5}),
    recipe(
        "losses",
        lambda d: {"losses per_example_loss regularization_loss": d.array(4)},
        {"weights": 0.5},
        {"global_batch_size": 8},
    ),
    recipe("distance", lambda d: {"labels": d.array(3, 4), "predictions": d.array(3, 4), "axis": 1}),
    recipe("half-squares", lambda d: {"t": d.array(3, 4)}, only="(?i)l2"),
    recipe("normalised", lambda d: {"x": d.array(3, 4)}, {"axis": 1}, {"axis": 1, "epsilon": 0.5}, only="(?i)l2_norm"),
    recipe("zeros", lambda d: {"value": d.values_of([[0, 1], [2, 0]])}, only="zero_fraction"),
    recipe(
        "sequences",
        lambda d: {
            "labels target": np.array([[1, 2, 1], [2, 1, 0]], np.int32),
            "logits output": d.array(2, 6, 4),
            "label_length target_length": np.array([3, 2], np.int32),
            "logit_length output_length": np.array([6, 5], np.int32),
            "logits_time_major": False,
        },
        {"blank_index": 0},
    ),
    recipe(
        "sequences-in-columns",
        lambda d: {
            "y_true": np.array([[1, 2, 1], [2, 1, 0]], np.int32),
            "y_pred": d.shares(2, 6, 4),
            "input_length": np.array([[6], [5]], np.int32),
            "label_length": np.array([[3], [2]], np.int32),
        },
    ),
    recipe(
        "read-sequences",
        lambda d: {"inputs": d.array(6, 2, 4), "sequence_length sequence_lengths": np.array([6, 5], np.int32)},
    ),
    recipe(
        "decoded-sequences",
        lambda d: {"inputs": d.array(2, 6, 4), "sequence_lengths": np.array([6, 5], np.int32)},
        {"strategy": "beam_search"},
    ),
    recipe(
        "sparse-sequences",
        lambda d: {
            "inputs": d.array(6, 2, 4),
            "labels_indices": np.array([[0, 0], [0, 1], [1, 0]], np.int64),
            "labels_values": np.array([1, 2, 1], np.int32),
            "sequence_length": np.array([6, 5], np.int32),
        },
    ),
    recipe("labels", lambda d: {"labels": np.array([[1, 2, 1], [2, 1, 0]], np.int32)}, only="unique"),
]
