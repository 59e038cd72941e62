"""The domain of functions: which numbers make no case, as nothing says what a function returns of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from freezing.common.domain import is_outside, widens_its_array

POSITIONAL = json.dumps({"tuple": [[{"array": 0}, {"array": 1}], {"mapping": []}]})
ONE = json.dumps({"tuple": [[{"array": 0}], {"mapping": []}]})
NAMED = json.dumps({"tuple": [[], {"mapping": [["x", {"array": 0}], ["a", {"array": 1}]]}]})
BY_NAME = json.dumps({"tuple": [[{"array": 0}], {"mapping": [["other", {"array": 1}]]}]})
BOTH_BY_NAME = json.dumps({"tuple": [[], {"mapping": [["y", {"array": 1}], ["x", {"array": 0}]]}]})
CLIP_CALL = json.dumps({
    "tuple": [[], {"mapping": [["t", {"array": 0}], ["clip_value_min", -1], ["clip_value_max", 2]]}]
})  # fmt: skip
THREE = json.dumps({"tuple": [[{"array": 0}, {"array": 1}, {"array": 2}], {"mapping": []}]})
BY_THREE = json.dumps({"tuple": [[{"array": 0}, 3], {"mapping": []}]})
OF_ORDER = json.dumps({"tuple": [[2, {"array": 0}], {"mapping": []}]})
METHOD_OF_ORDER = json.dumps({"tuple": [[{"array": 0}, 2], {"mapping": []}]})
GRADIENT = json.dumps({"tuple": [[{"array": 0}], {"mapping": []}, [0], [{"array": 1}]], "way": "gradient"})
STITCH = json.dumps({"tuple": [[[{"array": 0}, {"array": 1}], [{"array": 2}]], {"mapping": []}]})
NAMED_STITCH = json.dumps({"tuple": [[], {"mapping": [["indices", [{"array": 0}, {"array": 1}]], ["data", []]]}]})
MASKED = json.dumps({"tuple": [[{"array": 0}], {"mapping": [["mask", {"array": 1}], ["dim", {"tuple": [1]}]]}]})
MASKED_ALONG_ALL = json.dumps({"tuple": [[{"array": 0}], {"mapping": [["mask", {"array": 1}]]}]})
MASKED_ALONG_ONE = json.dumps({"tuple": [[{"array": 0}, 0], {"mapping": [["mask", {"array": 1}]]}]})
SORTED_PROMISED = json.dumps({"tuple": [[{"array": 0}, {"array": 1}], {"mapping": [["indices_are_sorted", True]]}]})
UNIQUE_PROMISED = json.dumps({"tuple": [[{"array": 0}, {"array": 1}], {"mapping": [["unique_indices", True]]}]})
ALONG_ONE = json.dumps({"tuple": [[{"array": 0}, {"array": 1}, {"array": 2}, 1], {"mapping": []}]})
WITH_SORTER = json.dumps({"tuple": [[{"array": 0}, {"array": 1}], {"mapping": [["sorter", {"array": 2}]]}]})
TWO_BY_TWO, WEIGHT = [[1.0, 2.0], [3.0, 4.0]], [[[1.0, 2.0]]]
INFINITE, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(("name", "call", "arrays"), [
    ("torch.lgamma", ONE, [[-2.0, 0.5]]),
    ("tf.math.digamma", ONE, [[0.0]]),
    ("torch.special.gammaln", GRADIENT, [[-1.0], [0.5]]),
    ("torch.igamma", POSITIONAL, [[-1.0], [2.0]]),
    ("torch.igamma", POSITIONAL, [[1.0, 1.0], [2.0, -2.0]]),
    ("torch.igamma", POSITIONAL, [[[1.0], [0.0]], [1.0, 2.0]]),
    ("tf.raw_ops.IgammaGradA", NAMED, [[2.0], [0.0]]),
    ("tf.clip_by_value", THREE, [[2.0], [1.0], [0.0]]),
    ("tf.raw_ops.ClipByValue", CLIP_CALL, [np.array([3], np.uint8)]),
    ("torch.special.zeta", POSITIONAL, [[1.0], [2.0]]),
    ("torch.polygamma", OF_ORDER, [[-3.0]]),
    ("torch.Tensor.polygamma_", METHOD_OF_ORDER, [[-3.0]]),
    ("tf.math.polygamma", POSITIONAL, [[0.5], [2.0]]),
    ("tf.math.betainc", THREE, [[1.0], [2.0], [1.5]]),
    ("jax.lax.erf_inv", ONE, [[1.5]]),
    ("tf.math.erfcinv", ONE, [[-0.5]]),
    ("torch.special.ndtri", ONE, [[2.0]]),
    ("torch.special.scaled_modified_bessel_k1", ONE, [[-2.0]]),
    ("tf.bitwise.left_shift", POSITIONAL, [[1], [64]]),
    ("torch.Tensor.__lshift__", POSITIONAL, [[1], [-1]]),
    ("jax.numpy.floor_divide", POSITIONAL, [[1, 2], [1, 0]]),
    ("torch.floor_divide", BY_NAME, [[1, 2], [1, 0]]),
    ("tf.bitwise.left_shift", BOTH_BY_NAME, [[1], [64]]),
    ("tf.dynamic_stitch", STITCH, [[0, 3], 1, [2.0]]),
    ("tf.raw_ops.DynamicStitch", NAMED_STITCH, [[0], [2_000_000]]),
    ("tf.raw_ops.ParallelDynamicStitch", NAMED_STITCH, [[0, 1], [1]]),
    ("torch.nn.functional.threshold", ONE, [[NAN, 1.0]]),
    ("torch.nn.Softshrink", ONE, [[NAN]]),
    ("torch.linspace", POSITIONAL, [NAN, 4.0]),
    ("jax.numpy.linspace", POSITIONAL, [1.0, INFINITE]),
    ("torch.arange", json.dumps({"tuple": [[{"float": "nan"}, 4], {"mapping": []}]}), []),
    ("torch.nn.functional.conv_transpose3d", POSITIONAL, [WEIGHT, [[[1.0, INFINITE]]]]),
    ("tf.nn.conv2d", POSITIONAL, [WEIGHT, [[[NAN]]]]),
    ("jax.lax.conv_general_dilated", POSITIONAL, [WEIGHT, [[[NAN]]]]),
    ("torch.masked.amax", MASKED, [TWO_BY_TWO, [[True, False], [False, False]]]),
    ("torch.masked.argmin", MASKED_ALONG_ONE, [TWO_BY_TWO, [[True, False], [True, False]]]),
    ("torch.masked.median", MASKED_ALONG_ONE, [1.0, False]),
    ("torch.masked.sum", MASKED_ALONG_ALL, [TWO_BY_TWO, [False, False]]),
    ("jax.numpy.searchsorted", POSITIONAL, [[1.0, 3.0, 2.0], [2.5]]),
    ("jax.Array.searchsorted", POSITIONAL, [[NAN, 3.0], [2.5]]),
    ("torch.bucketize", POSITIONAL, [[2.5], [2.0, 1.0]]),
    ("jax.numpy.digitize", POSITIONAL, [[2.5], [2.0, 1.0, 3.0]]),
    ("jax.numpy.interp", THREE, [[2.5], [2.0, 1.0], [0.0, 1.0]]),
    ("jax.ops.segment_sum", SORTED_PROMISED, [[1.0, 2.0], [1, 0]]),
    ("jax.ops.segment_sum", UNIQUE_PROMISED, [[1.0, 2.0], [1, 1]]),
    ("jax.numpy.put", THREE, [[1.0, 2.0], [1, 1], [3.0, 4.0]]),
    ("jax.numpy.put_along_axis", ALONG_ONE, [TWO_BY_TWO, [[1, 1], [0, 1]], TWO_BY_TWO]),
    ("jax.lax.scatter", THREE, [[1.0, 2.0], [[1], [1]], [3.0, 4.0]]),
    ("torch.masked.log_softmax", MASKED_ALONG_ALL, [TWO_BY_TWO, [[True, True], [True, False]]]),
])  # fmt: skip
def test_a_number_outside_of_the_domain_makes_no_case(name: str, call: str, arrays: Sequence[Any]) -> None:
    assert is_outside(name, call, list(map(np.array, arrays)), [np.array([1])])


@pytest.mark.parametrize(("name", "call", "arrays"), [
    ("torch.lgamma", ONE, [[-2.5, 0.5, 1.0]]),
    ("torch.lgamma", ONE, [[INFINITE, -INFINITE, NAN]]),
    ("torch.special.gammaln", GRADIENT, [[1.0], [-1.0]]),
    ("torch.igamma", POSITIONAL, [[1.0], [0.0]]),
    ("torch.igamma", POSITIONAL, [[NAN], [-1.0]]),
    ("tf.raw_ops.IgammaGradA", NAMED, [[0.0], [2.0]]),
    ("tf.clip_by_value", THREE, [[2.0], [0.0], [1.0]]),
    ("tf.clip_by_value", POSITIONAL, [[2.0], [1.0]]),
    ("tf.raw_ops.ClipByValue", CLIP_CALL, [np.array([3], np.int8)]),
    ("torch.Tensor.polygamma_", METHOD_OF_ORDER, [[-2.5]]),
    ("torch.special.ndtri", ONE, [[0.0, 1.0]]),
    ("torch.acosh", ONE, [[-1.0]]),
    ("torch.log", ONE, [[-1.0]]),
    ("torch.lgamma", ONE, [[]]),
    ("torch.lgamma", ONE, [[1j]]),
    ("tf.bitwise.left_shift", POSITIONAL, [[1], [63]]),
    ("tf.bitwise.left_shift", ONE, [[1]]),
    ("tf.bitwise.left_shift", BOTH_BY_NAME, [[64], [1]]),
    ("torch.floor_divide", BY_NAME, [[0, 2], [1, 3]]),
    ("jax.numpy.floor_divide", POSITIONAL, [[1.0], [0.0]]),
    ("jax.numpy.floor_divide", BY_THREE, [[0, 1]]),
    ("jax.numpy.mod", POSITIONAL, [np.zeros((0, 2), int), [0]]),
    ("tf.dynamic_stitch", STITCH, [[0, 3], [2, 1], [2.0]]),
    ("tf.raw_ops.DynamicStitch", NAMED_STITCH, [[0, 1], [1]]),
    ("tf.raw_ops.DynamicStitch", NAMED_STITCH, [np.zeros(0, int), np.zeros(0, int)]),
    ("tf.dynamic_stitch", ONE, [[0, 3]]),
    ("torch.nn.functional.threshold", ONE, [[INFINITE]]),
    ("torch.nn.functional.hardtanh", ONE, [[NAN]]),
    ("torch.linspace", POSITIONAL, [1.0, 4.0]),
    ("torch.nn.functional.conv2d", POSITIONAL, [[[[INFINITE]]], WEIGHT]),
    ("torch.nn.functional.conv2d", POSITIONAL, [WEIGHT, WEIGHT, [NAN]]),
    ("torch.convert", POSITIONAL, [WEIGHT, [[[NAN]]]]),
    ("torch.masked.amax", MASKED, [TWO_BY_TWO, [[True, False], [False, True]]]),
    ("torch.masked.amax", MASKED_ALONG_ALL, [TWO_BY_TWO, [[True, False], [False, False]]]),
    ("torch.masked.softmax", MASKED_ALONG_ALL, [TWO_BY_TWO, [True, True]]),
    ("torch.masked.amax", ONE, [TWO_BY_TWO]),
    ("torch.amax", MASKED, [TWO_BY_TWO, [[False, False], [False, False]]]),
    ("jax.numpy.searchsorted", POSITIONAL, [[1.0, INFINITE, NAN], [2.5]]),
    ("torch.searchsorted", WITH_SORTER, [[3.0, 1.0], [2.5], [1, 0]]),
    ("jax.numpy.digitize", POSITIONAL, [[2.5], [3.0, 1.0]]),
    ("jax.numpy.histogram", BY_THREE, [[3.0, 1.0]]),
    ("jax.ops.segment_sum", SORTED_PROMISED, [[1.0, 2.0], [0, 0]]),
    ("jax.ops.segment_sum", POSITIONAL, [[1.0, 2.0], [1, 0]]),
    ("jax.numpy.put", THREE, [[1.0, 2.0], [1, 0], [3.0, 4.0]]),
    ("jax.numpy.put_along_axis", ALONG_ONE, [TWO_BY_TWO, [[1, 0], [1, 0]], TWO_BY_TWO]),
    ("torch.put", THREE, [[1.0, 2.0], [1, 1], [3.0, 4.0]]),
])  # fmt: skip
def test_a_number_in_the_domain_or_of_which_a_standard_speaks_does(name: str, call: str, arrays: Sequence[Any]) -> None:
    assert not is_outside(name, call, list(map(np.array, arrays)), [np.array([1])])


def test_a_division_of_whole_numbers_that_is_no_whole_number_follows_the_standard() -> None:
    assert not is_outside("torch.div", POSITIONAL, [np.array([1]), np.array([0])], [np.array([INFINITE])])


def test_nothing_says_that_a_device_refuses_a_division_of_whole_numbers_by_zero() -> None:
    assert is_outside("tf.math.floormod", POSITIONAL, [np.array([1]), np.array([0])], [])


def test_a_method_in_place_that_makes_its_array_larger_is_told_apart() -> None:
    one, five = np.ones(1), np.ones((5, 10))
    assert widens_its_array("torch.Tensor.addbmm_", [one, five], [five])
    assert not widens_its_array("torch.Tensor.addbmm_", [five, one], [five])
    assert not widens_its_array("torch.Tensor.resize_", [five], [five.reshape(25, 2)])
    assert not widens_its_array("torch.Tensor.addbmm", [one, five], [five])
    assert not widens_its_array("torch.Tensor.__add__", [one, five], [five])
