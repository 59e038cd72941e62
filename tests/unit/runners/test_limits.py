"""Limits: gradients by differences where inputs are NaN, infinite or large, and results at NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from freezing.common.limits import gradients, results
from runners.errors import UnjudgedError

NAN, INF = np.nan, np.inf


def slopes(function: Callable[[Any], Any], *values: float) -> list[float]:
    with np.errstate(all="ignore"):
        (slope,) = gradients(lambda arrays: [function(arrays[0])], [np.array(values)])
    return [float(f"{value:.6g}") for value in slope]


def test_at_nan_the_gradient_is_nan_if_it_depends_on_the_number() -> None:
    assert slopes(np.square, 2.0, 3.0) == [4.0, 6.0]
    np.testing.assert_equal(slopes(np.square, 2.0, NAN), [4.0, NAN])


def test_at_nan_the_gradient_of_a_linear_function_is_its_factor() -> None:
    assert slopes(lambda x: 3 * x, 2.0, NAN) == [3.0, 3.0]


def test_at_nan_a_gradient_with_a_kink_is_nan() -> None:
    np.testing.assert_equal(slopes(lambda x: np.maximum(x, 0), 2.0, NAN), [1.0, NAN])


def test_the_gradient_of_a_number_that_nan_is_multiplied_by_is_nan() -> None:
    np.testing.assert_equal(slopes(lambda x: x[:1] * x[1:], 2.0, NAN), [NAN, 2.0])


def test_numbers_outside_of_the_domain_do_not_replace_nan() -> None:
    np.testing.assert_equal(slopes(np.log, 2.0, NAN), [0.5, NAN])
    with pytest.raises(UnjudgedError):
        slopes(lambda x: np.log(x - 2), NAN)


def test_at_infinity_the_gradient_is_its_limit() -> None:
    assert slopes(np.tanh, 0.0, INF, -INF) == [1.0, 0.0, 0.0]
    assert slopes(lambda x: np.maximum(x, 0), INF, -INF) == [1.0, 0.0]


def test_at_infinity_a_gradient_that_grows_has_no_limit() -> None:
    with pytest.raises(UnjudgedError):
        slopes(np.square, INF)


def test_at_large_numbers_the_step_is_relative() -> None:
    assert slopes(np.log, 1e10, 1e30) == [1e-10, 1e-30]


def test_a_large_result_does_not_hide_the_slope_of_another() -> None:
    assert slopes(np.square, 3.0, 1e12)[0] == 6.0


def test_a_result_is_nan_where_it_depends_on_the_number_in_place_of_nan() -> None:
    (sums,) = results(lambda arrays: [arrays[0].sum(1)], [np.array([[1.0, NAN], [2.0, 3.0]])])
    np.testing.assert_equal(sums, [NAN, 5.0])
    (largest,) = results(lambda arrays: [arrays[0].max(1)], [np.array([[9.0, NAN], [2.0, 3.0]])])
    np.testing.assert_equal(largest, [NAN, 3.0])


def test_a_result_of_integers_that_depends_on_nan_is_not_determined() -> None:
    with pytest.raises(UnjudgedError):
        results(lambda arrays: [arrays[0], arrays[0].argmax()], [np.array([1.0, NAN])])
    with pytest.raises(UnjudgedError):
        results(lambda arrays: [arrays[0].size], [np.array([1.0, NAN])])
