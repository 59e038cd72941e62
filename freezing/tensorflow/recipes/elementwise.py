"""Recipes of elementwise functions and reductions: of one array, of two or three that can be broadcast, of limits."""

from __future__ import annotations

from freezing.tensorflow.recipe import ONE, recipe

AXIS = "axis dimension reduction_indices axes dim"
KEEP = "keepdims keep_dims"
FIRST = "x a x1 input lhs"
SECOND = "y b x2 other rhs"

_REDUCED = ({AXIS: 0}, {AXIS: -1, KEEP: True}, {KEEP: True}, {AXIS: [0, 1]})

RECIPES = [
    recipe("one", lambda d: {ONE: d.array(3, 4)}, *_REDUCED, {"exclusive": True}, {"reverse": True}),
    recipe("one-unit", lambda d: {ONE: d.unit(3, 4)}, {AXIS: 1}),
    recipe("one-positive", lambda d: {ONE: d.positive(5)}),
    recipe("one-distinct", lambda d: {ONE: d.distinct(4, 5)}, {AXIS: 0}),
    recipe("one-0-dim", lambda d: {ONE: d.array()}),
    recipe("one-empty", lambda d: {ONE: d.array(0, 3)}, {AXIS: 1}, {AXIS: 0}),
    recipe("one-cube", lambda d: {ONE: d.array(2, 3, 4)}, {AXIS: 1}, {AXIS: [0, 2], KEEP: True}),
    recipe("one-vector", lambda d: {ONE: d.array(6)}, {AXIS: 0}),
    recipe("one-along", lambda d: {ONE: d.array(3, 4), AXIS: 1}, {KEEP: True}, {"exclusive": True}, {"reverse": True}),
    recipe("one-along-cube", lambda d: {ONE: d.array(2, 3, 4), AXIS: [1]}, {KEEP: True}),
    recipe("one-along-empty", lambda d: {ONE: d.array(0, 3), AXIS: 1}),
    recipe("conditions", lambda d: {ONE: d.bools(3, 4)}, *_REDUCED),
    recipe("conditions-along", lambda d: {ONE: d.bools(3, 4), AXIS: 1}, {KEEP: True}),
    recipe("conditions-two", lambda d: {FIRST: d.bools(3, 4), SECOND: d.bools(3, 4)}),
    recipe("conditions-broadcast", lambda d: {"x x1": d.bools(3, 1), "y x2": d.bools(4)}),
    recipe("two", lambda d: {FIRST: d.array(3, 4), SECOND: d.array(3, 4)}, {AXIS: 1}),
    recipe("two-positive", lambda d: {FIRST: d.positive(3, 4), SECOND: d.positive(3, 4)}),
    recipe("two-unit", lambda d: {FIRST: d.unit(5), SECOND: d.unit(5)}),
    recipe("two-broadcast", lambda d: {FIRST: d.array(3, 1), SECOND: d.positive(4)}),
    recipe("two-0-dim", lambda d: {FIRST: d.array(3), SECOND: d.positive()}),
    recipe("two-both-0-dim", lambda d: {FIRST: d.array(), SECOND: d.array()}),
    recipe("two-empty", lambda d: {FIRST: d.array(0, 3), SECOND: d.array(0, 3)}),
    recipe("shifts", lambda d: {FIRST: d.ints(3, 4, high=40), SECOND: d.ints(3, 4, high=5)}),
    recipe("of-an-order", lambda d: {"a": d.positive(3, 4), "x": d.positive(3, 4)}),
    recipe("from-a-start", lambda d: {"x": d.positive(3, 4), "q": d.positive(3, 4)}),
    recipe("orders", lambda d: {"a": d.values_of([[1, 2], [3, 0]]), "x": d.positive(2, 2)}),
    recipe("three", lambda d: {"a": d.positive(3, 4), "b": d.positive(3, 4), "x": d.unit(3, 4)}),
    recipe("quotients", lambda d: {"x a": d.distinct(3, 4), "q": 0.4}, {AXIS: 1}, {AXIS: 0, KEEP: True}),
    recipe("percentages", lambda d: {"x a": d.distinct(3, 4), "q": 40.0}, {AXIS: 1}),
    recipe(
        "limits",
        lambda d: {
            "t x a": d.array(3, 4),
            "clip_value_min x_min a_min min_value": -1,
            "clip_value_max x_max a_max max_value": 2,
        },
    ),
    recipe(
        "limits-in-arrays",
        lambda d: {"t": d.array(3, 4), "clip_value_min": d.array(), "clip_value_max": d.values_of(4)},
    ),
    recipe("norm-limit", lambda d: {"t": d.array(3, 4), "clip_norm": 1.5}, {"axes": [1]}),
    recipe("norm-limits", lambda d: {"t_list": [d.array(3, 4), d.array(5)], "clip_norm": 1.5}, only="global"),
    recipe("norm-of-all", lambda d: {"t_list": [d.array(3, 4), d.array(5)]}),
    recipe("scaled", lambda d: {"scalar": 2, "x": d.array(3, 4)}),
    recipe("real-and-imaginary", lambda d: {"real": d.array(3, 4), "imag": d.array(3, 4)}),
    recipe("polar", lambda d: {"abs_": d.positive(3, 4), "angle": d.array(3, 4)}),
    recipe(
        "polynomial",
        lambda d: {"coeffs": [d.array(), d.array(3, 4), d.array()], "x": d.array(3, 4)},
    ),
    recipe("polynomial-vector", lambda d: {"p": d.array(3), "x": d.array(4)}),
    recipe("threshold", lambda d: {"x": d.array(3, 4), "threshold": 0.5, "default_value": -1.0}),
    recipe(
        "converted", lambda d: {"x value input": d.array(3, 4), "dtype DstT type": "int32"}, {"dtype DstT": "float32"}
    ),
    recipe("added", lambda d: {"inputs": [d.array(3, 4), d.array(3, 4), d.array(3, 4)]}, {"shape": [3, 4]}),
    recipe("alternatives", lambda d: {"condition": d.bools(3, 4), "x x1": d.array(3, 4), "y x2": d.array(3, 4)}),
    recipe("alternatives-broadcast", lambda d: {"condition": d.bools(3, 1), "x x1": d.array(4), "y x2": d.array()}),
    recipe("chosen", lambda d: {"condition": d.bools(3, 4), "t": d.array(3, 4), "e": d.array(3, 4)}),
    recipe(
        "choices",
        lambda d: {"condlist": [d.bools(4), d.bools(4)], "choicelist": [d.array(4), d.array(4)]},
        {"default": 2},
    ),
    recipe("power", lambda d: {"x": d.positive(3, 4), "a": 3}),
    recipe("to-an-increment", lambda d: {"x": d.array(3, 4), "x2 y": 3}),
    recipe("bins", lambda d: {"x input": d.array(3, 4), "bins boundaries": d.increasing(4)}),
    recipe("edges", lambda d: {"input": d.array(3, 4), "boundaries": [-1.0, 0.5, 2.0]}),
    recipe("counted", lambda d: {"x arr": d.ints(8, high=5)}, {"minlength": 7}),
    recipe("counted-weighted", lambda d: {"arr input": d.ints(8, high=5), "size": 6, "weights": d.array(8)}),
    recipe("histogram", lambda d: {"values": d.array(12), "value_range": [-2.0, 2.0]}, {"nbins": 5}),
    recipe("nan-checked", lambda d: {"tensor x": d.array(3, 4), "message": "it is none"}),
    recipe("heaviside", lambda d: {"x1": d.values_of([[-1, 0], [2, 0]]), "x2": d.array(2, 2)}),
    recipe("kaiser", lambda d: {"x M": 8, "beta": 4.0}, only="kaiser"),
    recipe("of-a-length", lambda d: {"x M n": 8}, only="hamming|hanning|blackman|bartlett|identity"),
]
