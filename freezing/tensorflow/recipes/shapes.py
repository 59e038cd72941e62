"""Recipes of functions that rearrange arrays: reshape, join, split, pad, repeat, slice, sort."""

from __future__ import annotations

from freezing.tensorflow.recipe import ONE, recipe

MANY = "values xs tup arrays arys inputs tensors axis_values"

RECIPES = [
    recipe("reshaped", lambda d: {ONE: d.array(3, 4), "shape newshape": [2, 6]}),
    recipe("reshaped-flat", lambda d: {ONE: d.array(2, 3, 2), "shape newshape": [-1]}),
    recipe("broadcast", lambda d: {ONE + " array": d.array(1, 4), "shape": [3, 4]}),
    recipe("broadcast-0-dim", lambda d: {ONE + " array": d.array(), "shape": [2, 3]}),
    recipe("same-shape", lambda d: {ONE: d.array(3, 4), "shape": [3, 4]}),
    recipe("tiled", lambda d: {ONE + " A": d.array(3, 2), "multiples reps repeats n": [2, 3]}),
    recipe("repeated", lambda d: {ONE: d.array(3, 4), "repeats n": 2}, {"axis": 1}, {"axis": 0}),
    recipe("repeated-elements", lambda d: {"x": d.array(3, 4), "rep": 2, "axis": 1}),
    recipe(
        "turned",
        lambda d: {ONE: d.array(2, 3, 4), "perm axes pattern": [2, 0, 1]},
        only=r"(?i)transpose|permute|turned",
    ),
    recipe("matrix-turned", lambda d: {ONE: d.array(3, 4)}, {"perm axes": [1, 0]}, only="(?i)transpose"),
    recipe("axis-added", lambda d: {ONE: d.array(3, 4), "axis dim": 1}, {"axis dim": -1}, {"axis dim": [0, 2]}),
    recipe("axis-dropped", lambda d: {ONE: d.array(3, 1, 4)}, {"axis squeeze_dims": [1]}, {"axis": 1}, only="squeeze"),
    recipe("axes-moved", lambda d: {"a x": d.array(2, 3, 4), "source": 0, "destination": -1}),
    recipe("axes-swapped", lambda d: {"a x": d.array(2, 3, 4), "axis1": 0, "axis2": 2}),
    recipe("axis-rolled", lambda d: {"a x": d.array(2, 3, 4), "axis": 2}, {"start": 1}),
    recipe("joined", lambda d: {MANY: [d.array(2, 3), d.array(2, 3)]}, {"axis": 1}, {"axis": -1}),
    recipe("joined-along", lambda d: {MANY: [d.array(2, 3), d.array(4, 3)], "axis concat_dim": 0}),
    recipe("joined-vectors", lambda d: {MANY: [d.array(3), d.array(3)], "axis concat_dim": 0}),
    recipe("joined-empty", lambda d: {MANY: [d.array(0, 3), d.array(2, 3)], "axis concat_dim": 0}),
    recipe("joined-parallel", lambda d: {MANY: [d.array(1, 3), d.array(1, 3)], "shape": [2, 3]}),
    recipe("appended", lambda d: {"arr x1": d.array(2, 3), "values x2": d.array(1, 3)}, {"axis": 0}),
    recipe("of-any-number", lambda d: {"*": [d.array(3), d.array(4)]}, {"indexing": "ij"}),
    recipe("of-any-number-of-one-shape", lambda d: {"*": [d.array(2, 3), d.array(2, 3)]}),
    recipe("of-any-number-broadcast", lambda d: {"*": [d.array(3, 1), d.array(4)]}),
    recipe("of-one-vector", lambda d: {"*": [d.array(3)]}),
    recipe(
        "split",
        lambda d: {
            "value x ary values": d.array(4, 6),
            "num_or_size_splits indices_or_sections num_split": 2,
            "axis split_dim": 0,
        },
        {"axis split_dim": 1},
    ),
    recipe("split-of-an-axis", lambda d: {"x ary": d.array(4, 6), "indices_or_sections": [1, 3]}, {"axis": 1}),
    recipe("split-cube", lambda d: {"x ary": d.array(2, 4, 6), "indices_or_sections": 2}),
    recipe(
        "split-by-sizes", lambda d: {"value": d.array(5, 3), "size_splits": [2, 3], "axis split_dim": 0, "num_split": 2}
    ),
    recipe("unstacked", lambda d: {"value x": d.array(3, 4), "num": 3}, {"axis": 0}),
    recipe(
        "padded",
        lambda d: {ONE + " array": d.array(3, 4), "paddings pad_width": [[1, 1], [0, 2]]},
        {"mode": "REFLECT"},
        {"mode": "SYMMETRIC"},
        {"mode": "constant", "constant_values": 2},
        {"mode": "reflect"},
        {"constant_values": 2},
    ),
    recipe(
        "padded-by-mode",
        lambda d: {"input array x": d.array(3, 4), "paddings pad_width": [[1, 1], [0, 2]], "mode": "REFLECT"},
    ),
    recipe("padded-by-constant", lambda d: {"array": d.array(3, 4), "pad_width": [[1, 1], [0, 2]], "mode": "constant"}),
    recipe(
        "padded-with-a-value",
        lambda d: {"input": d.array(3, 4), "paddings": [[1, 1], [0, 2]], "constant_values": d.array()},
    ),
    recipe("padded-time", lambda d: {"x": d.array(2, 3, 4), "padding": [1, 2]}, only="temporal"),
    recipe("padded-space", lambda d: {"x": d.array(2, 3, 4, 2)}, only="spatial_2d"),
    recipe("padded-volume", lambda d: {"x": d.array(1, 2, 3, 2, 2)}, only="spatial_3d"),
    recipe("rolled", lambda d: {ONE: d.array(3, 4), "shift": 1, "axis": 1}, {"shift": -2, "axis": 0}),
    recipe("rolled-whole", lambda d: {ONE: d.array(3, 4), "shift": 2}),
    recipe("reversed", lambda d: {ONE + " m": d.array(3, 4), "axis axes": [1]}, {"axis": [0, 1]}),
    recipe("reversed-by-flags", lambda d: {"tensor": d.array(3, 4), "dims": [True, False]}),
    recipe(
        "reversed-sequences",
        lambda d: {
            "input": d.array(3, 4),
            "seq_lengths": d.ints(3, low=1, high=5, dtype="int64"),
            "seq_axis seq_dim": 1,
            "batch_axis batch_dim": 0,
        },
    ),
    recipe("cut", lambda d: {"input input_": d.array(4, 5), "begin": [1, 0], "size": [2, 3]}),
    recipe("cut-by-starts", lambda d: {"inputs": d.array(4, 5), "start_indices": [1, 0], "shape": [2, 3]}),
    recipe("cut-changed", lambda d: {"inputs": d.array(4, 5), "start_indices": [1, 0], "updates": d.array(2, 3)}),
    recipe(
        "cut-in-steps",
        lambda d: {"input input_": d.array(4, 5), "begin": [0, 1], "end": [4, 5], "strides": [2, 1]},
        {"begin_mask": 1},
        {"shrink_axis_mask": 1},
    ),
    recipe(
        "cut-in-steps-changed",
        lambda d: {
            "input tensor": d.array(4, 5),
            "begin": [0, 1],
            "end": [4, 5],
            "strides": [2, 2],
            "value": d.array(2, 2),
        },
    ),
    recipe(
        "cut-in-steps-back",
        lambda d: {"shape": [4, 5], "begin": [0, 1], "end": [4, 5], "strides": [2, 2], "dy": d.array(2, 2)},
    ),
    recipe("item", lambda d: {"x": d.array(3, 4), "key": 1}),
    recipe("sorted", lambda d: {ONE: d.distinct(3, 5)}, {"axis": 0}, {"direction": "DESCENDING"}, only="(?i)sort"),
    recipe("largest", lambda d: {ONE: d.distinct(3, 6), "k": 2}, {"sorted": True}, {"reduction_dimension": 0}),
    recipe("n-th", lambda d: {ONE: d.distinct(3, 6), "n kth": 2}, {"reverse": True}),
    recipe("diagonal", lambda d: {ONE: d.array(4, 4)}, {"k offset": 1}, only="(?i)diag|trace|tri|band"),
    recipe("diagonal-vector", lambda d: {ONE: d.array(4)}, {"k": -1}, only="(?i)diag"),
    recipe("blocks-of-space", lambda d: {"input x": d.array(1, 4, 4, 2), "block_size": 2}),
    recipe("blocks-of-depth", lambda d: {"input x": d.array(1, 2, 3, 8), "block_size": 2}),
    recipe(
        "space-to-batch", lambda d: {"input": d.array(1, 4, 4, 2), "block_shape": [2, 2], "paddings": [[0, 0], [0, 0]]}
    ),
    recipe(
        "space-to-batch-padded",
        lambda d: {"input": d.array(1, 3, 4, 1), "block_shape": [2, 2], "paddings": [[1, 0], [0, 0]]},
    ),
    recipe(
        "batch-to-space",
        lambda d: {"input": d.array(4, 2, 2, 2), "block_shape": [2, 2], "crops": [[0, 0], [0, 0]]},
        {"crops": [[1, 0], [0, 1]]},
    ),
    recipe(
        "space-to-batch-by-size",
        lambda d: {"input": d.array(1, 4, 4, 2), "block_size": 2, "paddings": [[0, 0], [0, 0]]},
    ),
    recipe(
        "batch-to-space-by-size", lambda d: {"input": d.array(4, 2, 2, 2), "block_size": 2, "crops": [[0, 0], [0, 0]]}
    ),
    recipe("rearranged", lambda d: {"tensor": d.array(2, 3, 4), "pattern": "a b c -> c (a b)"}),
    recipe("unfolded", lambda d: {"x": d.array(1, 2, 4, 4), "kernel_size": 2}, {"stride": 2}),
    recipe("folded", lambda d: {"x": d.array(1, 8, 9), "output_size": [4, 4], "kernel_size": 2}),
    recipe("matrix-banded", lambda d: {"input": d.array(4, 4), "num_lower": 1, "num_upper": 0}),
    recipe(
        "matrix-of-diagonals",
        lambda d: {"diagonal": d.array(4), "k": 0, "num_rows": 4, "num_cols": 4, "padding_value": d.values_of(0)},
    ),
    recipe("diagonals-of-matrix", lambda d: {"input": d.array(4, 4), "k": 0, "padding_value": d.values_of(0)}),
    recipe("matrix-with-diagonal", lambda d: {"input": d.array(4, 4), "diagonal": d.array(4)}, {"k": 0}),
    recipe("condensed", lambda d: {"condition": [True, False, True], "a x": d.array(3, 4)}, {"axis": 0}),
    recipe("masked", lambda d: {"tensor": d.array(3, 4), "mask": [True, False, True]}),
    recipe("vectorised-upper", lambda d: {"n": 4}, {"m": 3}),
]
