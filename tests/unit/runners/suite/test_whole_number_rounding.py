"""Whole numbers that are cut from computed floats: where the last digits decide, and where they do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from freezing.common.rounding import are_powers_of_two, are_whole, hangs_on_digits

FLOAT32, FLOAT16 = 2.0**-23, 2.0**-10
LARGEST = 2.0**23


@pytest.mark.parametrize(
    ("values", "last_digit"),
    [
        ([0.5, 1.0], FLOAT32),
        ([0.9999999], FLOAT32),
        ([-2.0000002], FLOAT32),
        ([1000.0001], FLOAT32),
        ([2.99], FLOAT16),
        ([np.nan, 4.0], FLOAT32),
    ],
)
def test_the_last_digits_decide_near_a_whole_number(values: Sequence[float], last_digit: float) -> None:
    assert hangs_on_digits(np.array(values), last_digit, cuts_to_zero=True)


@pytest.mark.parametrize(
    ("values", "last_digit"),
    [
        ([0.5, 1.5], FLOAT32),
        ([0.0, -1e-9, 1e-9], FLOAT32),
        ([2.99], FLOAT32),
        ([np.nan, np.inf], FLOAT32),
        ([], FLOAT32),
    ],
)
def test_they_do_not_decide_between_two_or_at_zero(values: Sequence[float], last_digit: float) -> None:
    assert not hangs_on_digits(np.array(values), last_digit, cuts_to_zero=True)


def test_what_rounds_down_changes_at_zero_and_what_rounds_to_the_nearest_at_the_half() -> None:
    assert hangs_on_digits(np.array([0.0]), FLOAT32)
    assert hangs_on_digits(np.array([2.5]), FLOAT32, at_half=True)
    assert not hangs_on_digits(np.array([2.0]), FLOAT32, at_half=True)


@pytest.mark.parametrize(
    ("values", "is_exact"), [([3.0, -7.0], True), ([0.5], False), ([2 * LARGEST], False), ([np.nan], False), ([], True)]
)
def test_whole_numbers_are_exact_as_far_as_the_type_holds_them(values: Sequence[float], is_exact: bool) -> None:
    assert are_whole(np.array(values), FLOAT32) is is_exact


@pytest.mark.parametrize(("values", "is_exact"), [([2.0, -0.25, 1.0], True), ([3.0], False), ([0.0], False)])
def test_a_division_by_powers_of_two_is_exact(values: Sequence[float], is_exact: bool) -> None:
    assert are_powers_of_two(np.array(values)) is is_exact
