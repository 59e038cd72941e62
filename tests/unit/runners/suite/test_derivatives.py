"""Second derivatives that are zero within the tolerance make no case."""

from __future__ import annotations

import numpy as np
import pytest

from freezing.common.derivatives import are_zero
from runners.suite.checks import Tolerance

TOLERANCE = Tolerance(1e-5, 1e-5)


@pytest.mark.parametrize("arrays", [[[0.0]], [[1e-6, -1e-5], [0.0]], [[]], []])
def test_derivatives_that_zeros_agree_with_are_zero(arrays: list[list[float]]) -> None:
    assert are_zero(TOLERANCE, [np.array(array) for array in arrays])


@pytest.mark.parametrize("arrays", [[[2e-5]], [[0.0], [0.0, 1.0]], [[float("nan")]], [[float("inf")]]])
def test_one_derivative_that_zero_does_not_agree_with_is_enough(arrays: list[list[float]]) -> None:
    assert not are_zero(TOLERANCE, [np.array(array) for array in arrays])
