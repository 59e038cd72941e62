"""A result is right only if every value, shape, dtype and container of it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.suite.checks import TOLERANCES, Expected, Leaf, Mismatch, compare, leaves
from runners.suite.precision import terms
from runners.suite.rounding import to_bfloat16

FLOATS = st.floats(min_value=-1e6, max_value=1e6)


def leaf(values: Any, dtype: str = "float32") -> Leaf:
    return Leaf(np.asarray(values), dtype, "cpu")


def check(observed_value: Any, expected_value: Any, dtype: str = "float32") -> None:
    compare(observed_value, expected_value, dtype, TOLERANCES[dtype])


@given(st.lists(FLOATS, max_size=20), st.sampled_from(["float64", "float32", "float16", "bfloat16"]))
def test_a_result_equals_itself(values: list[float], dtype: str) -> None:
    array = np.array(values, dtype=float)
    check(leaf(array, dtype), array, dtype)


@given(st.lists(FLOATS.filter(lambda value: abs(value) > 1), min_size=1, max_size=20), st.data())
def test_one_value_a_per_cent_off_is_noticed_wherever_it_is(values: list[float], data: st.DataObject) -> None:
    expected_array = np.array(values)
    wrong = expected_array.copy()
    wrong[data.draw(st.integers(0, len(values) - 1))] *= 1.01
    with pytest.raises(Mismatch, match="1 of"):
        check(leaf(wrong), expected_array)


@pytest.mark.parametrize(
    ("observed_value", "expected_value", "message"),
    [
        (leaf([1.0, 2.0]), np.array([[1.0, 2.0]]), r"shape \(1, 2\), got \(2,\)"),
        (leaf([1.0], "float64"), np.array([1.0]), "dtype float32, got float64"),
        (leaf([1], "int32"), np.array([1]), "dtype int64, got int32"),
        (leaf([np.nan]), np.array([1.0]), "expected 1.0, got nan"),
        (leaf([1.0]), np.array([np.nan]), "expected nan, got 1.0"),
        (leaf([-np.inf]), np.array([np.inf]), "expected inf, got -inf"),
        (leaf([1, 2, 4], "int64"), np.array([1, 2, 3]), r"1 of 3 values differ, first at \[2\]"),
        ([leaf([1.0])], [np.array([1.0]), np.array([1.0])], "expected 2 values"),
        ({"a": leaf([1.0])}, {"b": np.array([1.0])}, r"expected the keys \['b'\]"),
        (None, np.array([1.0]), "expected an array, got None"),
        (1.0, np.array(1.0), "expected an array, got 1.0"),
        (True, 1, "expected 1, got True"),
        (2, 3, "expected 3, got 2"),
        (1.5, 1.25, "expected 1.25, got 1.5"),
    ],
)
def test_a_wrong_result_is_told_by_what_is_wrong(observed_value: Any, expected_value: Any, message: str) -> None:
    with pytest.raises(Mismatch, match=message):
        check(observed_value, expected_value)


def test_a_difference_deep_in_a_tree_is_named_by_its_path() -> None:
    with pytest.raises(Mismatch, match=r"result\['grads'\]\[1\]"):
        check({"grads": [leaf([1.0]), leaf([2.0])]}, {"grads": (np.array([1.0]), np.array([3.0]))})


def test_nan_equals_nan_and_infinities_their_own_sign() -> None:
    values = np.array([np.nan, np.inf, -np.inf])
    check(leaf(values), values)


def test_a_plain_number_may_be_as_far_off_as_an_array() -> None:
    check(1.000001, 1.0)


def test_another_dtype_can_be_expected() -> None:
    check(leaf([1, 2], "int32"), Expected([1, 2], "int32"))
    check(leaf([1.0], "float64"), Expected([1.0], "float64"))


@pytest.mark.parametrize(
    ("dtype", "observed_dtype", "of_real", "of_complex"),
    [("float64", "float64", "float64", "complex128"), ("complex64", "complex64", "float32", "complex64")],
)
def test_real_and_complex_results_have_the_precision_of_the_case(
    dtype: str, observed_dtype: str, of_real: str, of_complex: str
) -> None:
    check(leaf([1.0], of_real), np.array([1.0]), dtype)
    check(leaf([1 + 1j], of_complex), np.array([1 + 1j]), dtype)


VALUES = np.random.default_rng(7).standard_normal((8, 64))


@pytest.mark.parametrize(("dtype", "narrower"), [("float64", "float32"), ("complex128", "complex64")])
def test_values_as_a_narrower_type_rounds_them_are_a_matter_of_precision(dtype: str, narrower: str) -> None:
    wide = VALUES.astype(dtype) * (1 + 1j if dtype == "complex128" else 1)
    narrow_result = np.exp(wide.astype(narrower)).astype(dtype)
    assert right_at_of(leaf(narrow_result, dtype), np.exp(wide), dtype) == narrower


def test_bfloat16_under_the_name_of_float32_is_a_matter_of_precision() -> None:
    assert right_at_of(leaf(to_bfloat16(VALUES)), VALUES, "float32") == "bfloat16"


@pytest.mark.parametrize(("dtype", "off"), [("float32", 1e-3), ("float64", 1e-6), ("float16", 6e-3), ("bfloat16", 0.1)])
def test_to_be_right_at_a_wider_tolerance_is_no_matter_of_precision(dtype: str, off: float) -> None:
    assert right_at_of(leaf(VALUES * (1 + off), dtype), VALUES, dtype) is None


def test_whole_numbers_lie_on_every_grid_and_prove_nothing() -> None:
    whole_numbers = np.arange(1.0, 9.0)
    assert right_at_of(leaf(whole_numbers + 0.001 * (whole_numbers == 1), "float32"), whole_numbers, "float32") is None
    assert right_at_of(leaf(np.where(whole_numbers == 4, 4.03125, whole_numbers)), whole_numbers, "float32") is None


@pytest.mark.parametrize(("dtype", "count"), [("bfloat16", 64), ("float16", 2048)])
def test_errors_of_adding_up_in_the_type_itself_are_a_matter_of_precision(dtype: str, count: int) -> None:
    summands = np.random.default_rng(count).uniform(size=(8, count))
    sums = np.zeros(8)
    for column in summands.T:
        sums = (
            to_bfloat16(sums + column) if dtype == "bfloat16" else np.asarray(sums + column, np.float16).astype(float)
        )
    assert right_at_of(leaf(sums, dtype), summands.sum(1), dtype, [summands]) == dtype
    assert right_at_of(leaf(sums, dtype), summands.sum(1), dtype) is None, "nothing is known of any sum"


@pytest.mark.parametrize("samples", [24, 96, 4096])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_variance_divided_by_one_too_many_is_never_a_matter_of_precision(dtype: str, samples: int) -> None:
    observations = np.random.default_rng(samples).standard_normal((samples, 3))
    right, biased_variance = (0.9 + 0.1 * observations.var(0, ddof=degrees) for degrees in (1, 0))
    assert right_at_of(leaf(biased_variance.astype(dtype), dtype), right, dtype, [observations]) is None


@pytest.mark.parametrize(
    ("shapes", "result", "expected_terms"),
    [
        ([(4, 64)], (4,), 64),
        ([(4, 64), (64, 8)], (4, 8), 64),
        ([(2, 4, 64), (2, 64, 4)], (2, 4, 4), 64),
        ([(4, 64), (4, 64)], (4, 64), 1),
        ([], (3,), 1),
    ],
)
def test_shapes_tell_how_many_terms_a_value_may_be_the_sum_of(
    shapes: list[tuple[int, ...]], result: tuple[int, ...], expected_terms: int
) -> None:
    assert terms([np.zeros(shape) for shape in shapes], np.zeros(result)) == expected_terms


def right_at_of(observed_leaf: Leaf, expected_array: Any, dtype: str, inputs: Sequence[Any] = ()) -> str | None:
    with pytest.raises(Mismatch) as excinfo:
        compare(observed_leaf, expected_array, dtype, TOLERANCES[dtype], inputs)
    return excinfo.value.right_at


def test_a_wrong_shape_is_never_a_matter_of_precision() -> None:
    with pytest.raises(Mismatch) as excinfo:
        check([leaf([1.001]), leaf([1.0])], [np.array([1.0]), np.array([[1.0]])])
    assert excinfo.value.right_at is None


def test_wrong_integers_are_never_a_matter_of_precision() -> None:
    with pytest.raises(Mismatch) as excinfo:
        check(leaf([1000], "int64"), np.array([1001]))
    assert excinfo.value.right_at is None


def test_the_arrays_of_a_tree_are_listed_in_order() -> None:
    first, second, third = leaf([1.0]), leaf([2.0]), leaf([3.0])
    assert leaves({"a": [first, (second, "word")], "b": third, "c": None}) == [first, second, third]
