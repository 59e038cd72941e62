"""The gradients of the suite ``library`` are those of a weighted sum, also compiled, and wrong gradients are
detected."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from freezing.tensorflow.gradients import FIRST, SECOND, by_differences
from protocol.enums import Verdict
from runners.suite.cases import Case, Function
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK, ways
from tests.frameworks.common.library import wrong_outcomes
from tests.frameworks.common.running import run
from tests.frameworks.common.subject import Subject

LEAST_CHARTED = 300
"""Functions that have a gradient."""


@pytest.fixture(scope="module")
def functions() -> dict[str, Function]:
    return {function.name: function for function in FRAMEWORK.load_suites()["library"].functions}


@pytest.fixture(scope="module")
def gradients(functions: dict[str, Function]) -> list[Case]:
    return [case for function in functions.values() for case in function.cases if "gradient" in case.tags]


def test_it_charts_gradients(gradients: list[Case]) -> None:
    assert len({case.function for case in gradients}) >= LEAST_CHARTED


def test_a_gradient_is_named_so_and_judged_by_values(gradients: list[Case]) -> None:
    for case in gradients:
        assert case.id.endswith("-gradient"), case.id
        assert {"judged-by-differences", "judged-by-float64"} & set(case.tags), case.id


def test_a_gradient_is_that_of_the_weighted_sum_of_the_results() -> None:
    one, other = tf.constant([1.0, 2.0]), tf.constant([3.0, 5.0])
    both = lambda a, b, scale: (a * b * scale, tf.argmax(b), b)  # noqa: E731
    weights = [tf.constant([1.0, 10.0]), None, tf.ones(2)]
    by_one, by_other = ways.gradient(both, [one, other], {"scale": 2.0}, [0, 1], weights)()
    assert by_one.numpy().tolist() == [6.0, 100.0]
    assert by_other.numpy().tolist() == [3.0, 41.0]


def test_a_second_gradient_is_that_of_the_first_ones_product_with_its_directions() -> None:
    array, weights, directions = tf.constant([2.0, 3.0]), tf.constant([1.0, 10.0]), tf.constant([1.0, -1.0])
    (result,) = ways.second_order(lambda x: x**3, [array], {}, [0], [weights], [directions])()
    assert result.numpy().tolist() == [12.0, -180.0]


def test_the_gradient_of_a_lookup_is_an_array_of_its_inputs_shape() -> None:
    array = tf.constant([1.0, 2.0, 3.0])
    (result,) = ways.gradient(tf.gather, [array, tf.constant([2, 0, 2])], {}, [0], [tf.constant([1.0, 2.0, 4.0])])()
    assert result.numpy().tolist() == [2.0, 0.0, 5.0]


def wrong_backward(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with half of its gradient."""

    @tf.custom_gradient
    def halve(array: Any) -> Any:
        return tf.identity(array), lambda slope: slope / 2

    return lambda *arguments, **options: halve(function(*arguments, **options))


@pytest.mark.parametrize(("order", "directions", "derivative"), [
    (FIRST, [], [[1.5, 3.0]]),
    (SECOND, [[tf.constant([[1.0, 2.0]], tf.float64)]], [[6.0, -12.0]]),
])  # fmt: skip
def test_differences_are_the_derivative_without_its_formula(order: Any, directions: Any, derivative: Any) -> None:
    array, weights = tf.constant([[0.5, -1.0]], tf.float64), tf.constant([[2.0, 1.0]], tf.float64)
    parts = [[array], {}, [0], [weights], *directions]
    (result,) = by_differences(wrong_backward(lambda x: x**3), order, parts)
    np.testing.assert_allclose(result, derivative, rtol=1e-6)


@pytest.mark.parametrize("name", ["tf.tanh", "tf.matmul", "tf.gather"])
def test_a_wrong_gradient_is_noticed(cpu: Device, functions: dict[str, Function], name: str) -> None:
    wrong = wrong_backward(cpu.lookup(name))
    cases = [case for case in functions[name].cases if "gradient" in case.tags]
    verdicts = {run(cpu, dataclasses.replace(case, given=wrong)).verdict for case in cases}
    assert verdicts == {Verdict.failed}


def test_the_mutants_of_a_gradient_are_wrong_forward_or_backward_and_have_no_other_dtype(
    cpu: Device, subject: Subject, functions: dict[str, Function]
) -> None:
    (case, *_) = [case for case in functions["tf.matmul"].cases if "gradient" in case.tags]
    outcomes = dict(wrong_outcomes(cpu, case, subject))
    assert outcomes.keys() >= {"value 0 off", "gradients off"}
    assert outcomes.keys() <= {"value 0 off", "gradients off", "input untouched", "input clobbered"}
    assert not any(outcomes.values())


@pytest.mark.parametrize("name", ["tf.tanh", "tf.matmul", "tf.gather"])
def test_a_gradient_is_compiled_with_its_function(xla: Device, functions: dict[str, Function], name: str) -> None:
    cases = [case for case in functions[name].cases if {"gradient", "plain"} <= set(case.tags)]
    assert {run(xla, case).verdict for case in cases} == {Verdict.passed}


def test_no_gradient_is_zero(gradients: list[Case]) -> None:
    """A zero gradient would not show a wrong factor."""
    for case in gradients:
        assert case.reference is not None
        assert any(np.any(slope.values) for slope in case.reference() if slope is not None), case.id
