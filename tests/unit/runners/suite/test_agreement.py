"""The first reference that agrees with a result judges it, unless one of them shows that nothing determines it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from freezing.common.agreement import judge, tolerance_of_sums
from runners.errors import UnjudgedError
from runners.suite.checks import TOLERANCES, Leaf

NAN = float("nan")


def result(*values: float) -> Leaf:
    return Leaf(np.array(values, "float32"), "float32", "cpu")


def gives(*values: float) -> Callable[[], list[Any]]:
    return lambda: [np.array(values)]


def kind_that_judges(observed_leaf: Leaf, *judges: tuple[str, Callable[[], list[Any]]]) -> str:
    return judge(judges, observed_leaf, "float32", TOLERANCES["float32"])[0]


def test_the_first_that_agrees_judges() -> None:
    observed_leaf = result(1, 2)
    assert kind_that_judges(observed_leaf, ("numpy", gives(1, 3)), ("float64", gives(1, 2))) == "float64"
    assert kind_that_judges(observed_leaf, ("numpy", gives(1, 2, 3)), ("float64", gives(1, 2))) == "float64"
    assert kind_that_judges(result(1, NAN), ("numpy", gives(1, NAN))) == "numpy"


@pytest.mark.parametrize(
    ("observed_numbers", "others"), [((0.0,), (NAN,)), ((1.0, NAN), (1.0, 3.0)), ((1.0, 2.0, 0.0), (1.0, 2.0, NAN))]
)
def test_a_number_for_which_another_has_nan_is_not_determined(
    observed_numbers: tuple[float, ...], others: tuple[float, ...]
) -> None:
    with pytest.raises(UnjudgedError, match="numpy: not determined"):
        kind_that_judges(result(*observed_numbers), ("numpy", gives(*others)), ("float64", gives(*observed_numbers)))


def test_a_reference_that_differs_in_numbers_too_is_one_of_something_else() -> None:
    assert kind_that_judges(result(1, 0), ("numpy", gives(2, NAN)), ("float64", gives(1, 0))) == "float64"


def test_a_reference_is_compared_as_the_bfloat16_that_is_kept() -> None:
    observed_leaf = Leaf(np.array([3.21875], "float32"), "bfloat16", "cpu")
    tolerance = TOLERANCES["bfloat16"]
    _, expected = judge([("numpy", gives(3.23))], observed_leaf, "bfloat16", tolerance)
    assert expected.values.tolist() == [3.234375]
    with pytest.raises(UnjudgedError, match="differs"):
        judge([("numpy", gives(3.2423))], observed_leaf, "bfloat16", tolerance)


def test_only_a_sum_of_very_many_terms_has_a_wider_tolerance() -> None:
    tolerance, many = TOLERANCES["float32"], np.random.default_rng(2).uniform(0, 9, 100_000).astype(np.float32)
    wide = tolerance_of_sums(tolerance, "float32", [many], result(450_000))
    error_of_adding_one_by_one = abs(np.add.accumulate(many)[-1] / many.sum(dtype=np.float64) - 1)
    assert tolerance.relative < error_of_adding_one_by_one < wide.relative < 1e-4
    assert wide.absolute == tolerance.absolute
    assert tolerance_of_sums(tolerance, "float32", [many[:1000]], result(4_500)) == tolerance
    assert tolerance_of_sums(tolerance, "float32", [many], Leaf(many, "float32", "cpu")) == tolerance
    assert tolerance_of_sums(tolerance, "int32", [many], result(450_000)) == tolerance
