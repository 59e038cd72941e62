"""A result is right only if every value, shape, dtype and container of it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.suite.checks import TOLERANCES, Expected, Leaf, Mismatch, compare, leaves

FLOATS = st.floats(min_value=-1e6, max_value=1e6)


def leaf(values: Any, dtype: str = "float32") -> Leaf:
    return Leaf(np.asarray(values), dtype, "cpu")


def check(observed: Any, expected: Any, dtype: str = "float32") -> None:
    compare(observed, expected, dtype, TOLERANCES[dtype])


@given(st.lists(FLOATS, max_size=20), st.sampled_from(["float64", "float32", "float16", "bfloat16"]))
def test_a_result_equals_itself(values: list[float], dtype: str) -> None:
    array = np.array(values, dtype=float)
    check(leaf(array, dtype), array, dtype)


@given(st.lists(FLOATS.filter(lambda value: abs(value) > 1), min_size=1, max_size=20), st.data())
def test_one_value_a_per_cent_off_is_noticed_wherever_it_is(values: list[float], data: st.DataObject) -> None:
    expected = np.array(values)
    wrong = expected.copy()
    wrong[data.draw(st.integers(0, len(values) - 1))] *= 1.01
    with pytest.raises(Mismatch, match="1 of"):
        check(leaf(wrong), expected)


@pytest.mark.parametrize(
    ("observed", "expected", "told"),
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
def test_a_wrong_result_is_told_by_what_is_wrong(observed: Any, expected: Any, told: str) -> None:
    with pytest.raises(Mismatch, match=told):
        check(observed, expected)


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
    ("dtype", "observed", "of_real", "of_complex"),
    [("float64", "float64", "float64", "complex128"), ("complex64", "complex64", "float32", "complex64")],
)
def test_real_and_complex_results_have_the_precision_of_the_case(
    dtype: str, observed: str, of_real: str, of_complex: str
) -> None:
    check(leaf([1.0], of_real), np.array([1.0]), dtype)
    check(leaf([1 + 1j], of_complex), np.array([1 + 1j]), dtype)


@pytest.mark.parametrize(
    ("dtype", "off", "right_at"),
    [
        ("float32", 1e-3, "bfloat16"),
        ("float32", 0.5, None),
        ("float64", 1e-6, "float32"),
        ("float64", 1e-3, None),
        ("float16", 6e-3, "bfloat16"),
        ("bfloat16", 0.5, None),
    ],
)
def test_values_right_at_the_next_narrower_type_say_so(dtype: str, off: float, right_at: str | None) -> None:
    expected = np.array([1.0, 10.0])
    with pytest.raises(Mismatch) as caught:
        check(leaf(expected * (1 + off), dtype), expected, dtype)
    assert caught.value.right_at == right_at


def test_a_wrong_shape_is_never_a_matter_of_precision() -> None:
    with pytest.raises(Mismatch) as caught:
        check([leaf([1.001]), leaf([1.0])], [np.array([1.0]), np.array([[1.0]])])
    assert caught.value.right_at is None


def test_wrong_integers_are_never_a_matter_of_precision() -> None:
    with pytest.raises(Mismatch) as caught:
        check(leaf([1000], "int64"), np.array([1001]))
    assert caught.value.right_at is None


def test_the_arrays_of_a_tree_are_listed_in_order() -> None:
    first, second, third = leaf([1.0]), leaf([2.0]), leaf([3.0])
    assert leaves({"a": [first, (second, "word")], "b": third, "c": None}) == [first, second, third]
