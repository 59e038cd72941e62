"""Recipes of functions that read or write values by index: gather, scatter, segments, sequences, searches."""

from __future__ import annotations

import numpy as np

from freezing.tensorflow.recipe import Arguments, Array, Draw, recipe

WHERE = "indices ids"


def long(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def whole(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


def distinct_rows() -> Array:
    """Return three distinct rows out of six."""
    return np.array([[4], [0], [3]], np.int32)


def coordinates() -> Array:
    """Return three sorted places in a sparse array with four rows and three columns."""
    return np.array([[0, 1], [1, 0], [3, 2]], np.int64)


def sparse(d: Draw, indices: str = "indices", values: str = "values", shape: str = "shape") -> Arguments:
    """Return the three arrays of a sparse array with four rows and three columns."""
    return {indices: coordinates(), values: d.array(3), shape: long(4, 3)}


RECIPES = [
    recipe(
        "gathered",
        lambda d: {"params x a reference": d.array(4, 3), WHERE: d.ints(5, high=4)},
        {"axis": 1, WHERE: [0, 2]},
        {"axis": 0},
    ),
    recipe("gathered-along", lambda d: {"params": d.array(4, 3), WHERE: d.ints(2, 2, high=3), "axis": 1}),
    recipe(
        "gathered-batches",
        lambda d: {"params": d.array(3, 4, 2), WHERE: d.ints(3, 2, high=4), "axis": 1, "batch_dims": 1},
    ),
    recipe("gathered-at", lambda d: {"params": d.array(4, 3), "indices": d.ints(5, 2, high=3)}),
    recipe("gathered-rows", lambda d: {"params": d.array(4, 3), "indices": d.ints(2, 1, high=4)}),
    recipe("taken-along", lambda d: {"x arr": d.array(3, 4), "indices": d.ints(3, 2, high=4), "axis": 1}),
    recipe(
        "taken-along-long",
        lambda d: {"x arr": d.array(3, 4), "indices": d.ints(3, 2, high=4, dtype="int64"), "axis": 1},
    ),
    recipe("scattered", lambda d: {"indices": distinct_rows(), "updates values": d.array(3), "shape": [6]}),
    recipe("scattered-rows", lambda d: {"indices": distinct_rows(), "updates values": d.array(3, 2), "shape": [6, 2]}),
    recipe(
        "scattered-onto",
        lambda d: {"tensor input inputs": d.array(6), "indices": distinct_rows(), "updates": d.array(3)},
    ),
    recipe(
        "scattered-onto-rows",
        lambda d: {"tensor input inputs": d.array(6, 2), "indices": distinct_rows(), "updates": d.array(3, 2)},
    ),
    recipe("in-place", lambda d: {"x": d.array(4, 3), "i": [1, 3], "v": d.array(2, 3)}),
    recipe(
        "one-hot",
        lambda d: {"indices x": d.ints(5, high=4), "depth num_classes": 4},
        {"axis": 0},
        {"on_value": 2.0, "off_value": -1.0},
    ),
    recipe(
        "one-hot-of-values",
        lambda d: {"indices": d.ints(3, 2, high=4), "depth": 4, "on_value": d.array(), "off_value": d.array()},
    ),
    recipe("many-hot", lambda d: {"inputs": d.ints(2, 3, high=4), "num_classes num_tokens": 4}),
    recipe("categories", lambda d: {"x y": d.ints(5, high=4), "num_classes": 4}),
    recipe("lengths", lambda d: {"lengths": d.ints(4, high=5)}, {"maxlen": 6}),
    recipe(
        "searched",
        lambda d: {"sorted_sequence sorted_inputs": d.increasing(6), "values": d.array(4)},
        {"side": "right"},
    ),
    recipe("searched-rows", lambda d: {"sorted_sequence sorted_inputs": d.increasing(2, 6), "values": d.array(2, 3)}),
    recipe("unravelled", lambda d: {"indices": d.ints(5, high=12), "dims shape": [3, 4]}),
    recipe("unique", lambda d: {"x y": d.ints(8, high=4)}, only="(?i)unique"),
    recipe("unique-of-values", lambda d: {"x": d.values_of([2, 1, 2, 4, 1])}, {"axis": [0]}, only="(?i)unique"),
    recipe("unique-along", lambda d: {"x": d.values_of([2, 1, 2, 4, 1]), "axis": [0]}, only="(?i)unique"),
    recipe("listed-differences", lambda d: {"x": d.values_of([5, 1, 3, 2]), "y": d.values_of([3, 5])}),
    recipe(
        "nonzero", lambda d: {"x a input condition": d.values_of([[0, 2], [3, 0]])}, only="(?i)where|nonzero|count|zero"
    ),
    recipe("permutation", lambda d: {"x": whole(2, 0, 3, 1)}, only="(?i)permutation"),
    recipe("segments", lambda d: {"data": d.array(5, 2), "segment_ids": whole(0, 0, 1, 2, 2)}, {"num_segments": 4}),
    recipe(
        "segments-of-a-vector", lambda d: {"data": d.array(5), "segment_ids": whole(0, 0, 1, 2, 2)}, {"num_segments": 4}
    ),
    recipe("segments-empty", lambda d: {"data": d.array(0, 2), "segment_ids": d.ints(0)}, {"num_segments": 2}),
    recipe("unsorted-segments", lambda d: {"data": d.array(5, 2), "segment_ids": d.ints(5, high=4), "num_segments": 4}),
    recipe(
        "sparse-segments",
        lambda d: {"data": d.array(5, 2), "indices": d.ints(4, high=5), "segment_ids": whole(0, 0, 1, 2)},
        {"num_segments": 4},
    ),
    recipe(
        "sparse-segments-back",
        lambda d: {
            "grad": d.array(3, 2),
            "indices": d.ints(4, high=5),
            "segment_ids": whole(0, 0, 1, 2),
            "output_dim0 dense_output_dim0": 5,
        },
    ),
    recipe("partitions", lambda d: {"data": d.array(6, 2), "partitions": d.ints(6, high=3), "num_partitions": 3}),
    recipe("stitched", lambda d: {"indices": [whole(0, 2), whole(1, 3)], "data": [d.array(2, 3), d.array(2, 3)]}),
    recipe("embedding", lambda d: {"params": d.array(5, 3), "ids": d.ints(4, high=5)}, {"max_norm": 1.0}),
    recipe("top-found", lambda d: {"targets": d.ints(3, high=4), "predictions": d.distinct(3, 4), "k": 2}),
    recipe("confusion", lambda d: {"labels": d.ints(6, high=3), "predictions": d.ints(6, high=3)}, {"num_classes": 4}),
    recipe(
        "accidental",
        lambda d: {
            "true_classes": d.ints(3, 1, high=5, dtype="int64"),
            "sampled_candidates": long(1, 4, 2),
            "num_true": 1,
        },
    ),
    recipe("collapsed", lambda d: {"labels": d.ints(2, 5, high=3), "seq_length": d.ints(2, low=3, high=5)}),
    recipe("accumulated-lengths", lambda d: {"s0": [3, 1], "s1": [4]}),
    recipe("offsets", lambda d: {"concat_dim": 0, "shape": [[2, 3], [4, 3]]}),
    recipe(
        "sets",
        lambda d: {"a set1": d.ints(2, 3, high=5), "b set2": d.ints(2, 3, high=5)},
        {"set_operation": "intersection"},
    ),
    recipe("rearranged-ids", lambda d: {"values": d.ints(5, high=4), "weights": d.array(5), "binary_output": False}),
    recipe("rows-without-values", lambda d: {**sparse(d, shape="dense_shape"), "default_value": d.array()}),
    recipe(
        "dense",
        lambda d: {
            "sparse_indices": coordinates(),
            "output_shape": [4, 3],
            "sparse_values": d.array(3),
            "default_value": d.values_of(0),
        },
    ),
    recipe(
        "sparse-times-dense",
        lambda d: {**sparse(d, "a_indices", "a_values", "a_shape"), "b": d.array(3, 2)},
    ),
    recipe(
        "sparse-plus-dense",
        lambda d: {
            **sparse(d, "a_indices sp_indices", "a_values sp_values", "a_shape sp_shape"),
            "b dense": d.array(4, 3),
        },
    ),
    recipe(
        "sparse-reduced",
        lambda d: {**sparse(d, "input_indices", "input_values", "input_shape"), "reduction_axes": [1]},
    ),
    recipe("sparse-reordered", lambda d: sparse(d, "input_indices", "input_values", "input_shape")),
    recipe(
        "sparse-reshaped",
        lambda d: {"input_indices": coordinates(), "input_shape": long(4, 3), "new_shape": long(3, 4)},
    ),
    recipe("sparse-softmax", lambda d: sparse(d, "sp_indices", "sp_values", "sp_shape")),
    recipe("sparse-cut", lambda d: {**sparse(d), "start": long(0, 0), "size": long(3, 3)}),
    recipe(
        "two-sparse",
        lambda d: {
            **sparse(d, "a_indices", "a_values", "a_shape"),
            **sparse(d, "b_indices", "b_values", "b_shape"),
            "thresh": d.values_of(0),
        },
    ),
    recipe(
        "sparse-joined",
        lambda d: {
            "indices": [coordinates(), coordinates()],
            "values": [d.array(3), d.array(3)],
            "shapes": [long(4, 3), long(4, 3)],
            "concat_dim": 0,
        },
    ),
    recipe("sparse-split", lambda d: {"split_dim": 0, **sparse(d), "num_split": 2}),
    recipe(
        "ragged-rows",
        lambda d: {"value_rowids": long(0, 0, 2), "values": d.array(3), "nrows": 4, "default_value": d.array()},
    ),
    recipe("ragged-rows-back", lambda d: {"reverse_index_map": long(0, 1, 3), "grad_values": d.array(4)}),
    recipe(
        "ragged-range",
        lambda d: {"starts": d.values_of([0, 1]), "limits": d.values_of([3, 4]), "deltas": d.values_of([1, 2])},
    ),
    recipe(
        "ragged-gathered",
        lambda d: {
            "params_nested_splits": [long(0, 2, 3)],
            "params_dense_values": d.array(3),
            "indices": d.ints(2, high=2),
            "OUTPUT_RAGGED_RANK": 1,
        },
    ),
    recipe(
        "set-differences",
        lambda d: {"set1": d.ints(2, 3, high=5), "set2": d.ints(2, 3, high=5), "set_operation": "a-b"},
    ),
]
