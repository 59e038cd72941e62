"""Differences: derivatives from the values of a function alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from freezing.common.differences import gradients, second_order, weights_of

X, Y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([0.5, 4.0])


def loss(arrays: Sequence[Any]) -> float:
    x, y = arrays
    return float((x**3 * y).sum())


def test_a_gradient_is_that_of_each_input() -> None:
    by_x, by_y = gradients(loss, [X, Y])
    np.testing.assert_allclose(by_x, 3 * X**2 * Y, rtol=1e-8)
    np.testing.assert_allclose(by_y, (X**3).sum(0), rtol=1e-8)


def test_a_gradient_of_second_order_is_the_hessian_times_the_directions() -> None:
    along_x, along_y = np.array([[1.0, -1.0], [2.0, 0.5]]), np.array([0.25, 3.0])
    by_x, by_y = second_order(loss, [X, Y], [along_x, along_y])
    np.testing.assert_allclose(by_x, 6 * X * Y * along_x + 3 * X**2 * along_y, rtol=1e-5)
    np.testing.assert_allclose(by_y, (3 * X**2 * along_x).sum(0), rtol=1e-5)


def test_inputs_are_left_as_they_were() -> None:
    before = X.copy(), Y.copy()
    gradients(loss, [X, Y])
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])


def test_weights_are_different_and_none_is_zero() -> None:
    weights = weights_of((3, 4))
    assert np.unique(weights).size == 12
    assert (weights != 0).all()
    assert np.array_equal(weights, weights_of((3, 4)))
    assert weights_of(()).shape == ()
    assert weights_of((0, 3)).shape == (0, 3)
