"""The gradients of the suite ``library`` are those of a weighted sum, also compiled, and wrong gradients are
detected."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from freezing.common.gate import SampleGate
from freezing.common.parts import COUNTED, LISTED_VARIANTS
from freezing.tensorflow.functions import PublicFunction
from freezing.tensorflow.gradients import (
    FIRST,
    SECOND,
    Derivative,
    at_limits,
    by_differences,
    gradient_differences,
    sample_of,
)
from freezing.tensorflow.variants import SUITE
from protocol.enums import GRADIENT, Verdict
from runners.suite.cases import Case, Function
from runners.suite.device import Device
from runners.suite.frozen import PackWriter
from runners.tensorflow import FRAMEWORK, ways
from tests.frameworks.common.library import wrong_outcomes
from tests.frameworks.common.running import run
from tests.frameworks.common.subject import Subject

LEAST_CHARTED = 300
"""Functions that have a gradient."""
LEAST_UNUSUAL = 100
"""Functions that have a gradient with NaN or infinity, at large values, or in 16 bits."""
LEAST_TWICE = 250
"""Functions that have a second derivative."""


@pytest.fixture(scope="module")
def functions() -> dict[str, Function]:
    return {function.name: function for function in FRAMEWORK.load_suites()["library"].functions}


@pytest.fixture(scope="module")
def gradients(functions: dict[str, Function]) -> list[Case]:
    return [case for function in functions.values() for case in function.cases if "gradient" in case.tags]


def test_it_charts_gradients(gradients: list[Case]) -> None:
    assert len({case.function for case in gradients}) >= LEAST_CHARTED
    assert len({case.function for case in gradients if "second-order" in case.tags}) >= LEAST_TWICE


def test_a_gradient_is_named_so_and_judged_by_values(gradients: list[Case]) -> None:
    for case in gradients:
        assert case.id.endswith(("-gradient", "-second-order")), case.id
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


@pytest.mark.parametrize("is_small", [True, False])
def test_second_differences_of_values_and_of_gradients_are_the_second_derivative(is_small: bool) -> None:
    array, weights = tf.constant([[0.5, -1.0]], tf.float64), tf.constant([[2.0, 1.0]], tf.float64)
    parts = [[array], {}, [0], [weights], [tf.constant([[1.0, 2.0]], tf.float64)]]
    function = lambda x: x**3  # noqa: E731
    (result,) = by_differences(function, SECOND, parts) if is_small else gradient_differences(function, parts)
    np.testing.assert_allclose(result, [[6.0, -12.0]], rtol=1e-6)


@pytest.mark.parametrize(("function", "values", "slopes"), [
    (tf.math.square, [3.0, np.nan], [6.0, np.nan]),
    (tf.math.tanh, [0.0, np.inf], [1.0, 0.0]),
    (tf.math.log, [2.0, 1e6], [0.5, 1e-6]),
])  # fmt: skip
def test_a_gradient_at_unusual_values_is_judged_by_differences(function: Any, values: Any, slopes: Any) -> None:
    weights = tf.ones(2, tf.float64)
    (result,) = at_limits(wrong_backward(function), [[tf.constant(values, tf.float64)], {}, [0], [weights]])
    np.testing.assert_allclose(result, slopes, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_gradient_in_16_bits_has_the_dtype_of_its_inputs(dtype: str) -> None:
    pack = PackWriter()
    array = pack.add(np.array([0.5, -1.0], np.float32), dtype)
    case = {"name": "one", "dtype": dtype, "arrays": [array], "call": '{"tuple":[[{"array":0}],{"mapping":[]}]}'}
    function = PublicFunction("tf.math.square")
    sample = sample_of(function, case, FIRST, [], pack)
    gate = SampleGate(Derivative(function, FIRST), pack)
    gate.admit([sample], 1)
    (admitted,) = gate.cases
    assert (admitted["name"], admitted["dtype"]) == ("one-gradient", dtype)
    assert [pack.dtype(digest) for digest in admitted["expected"]] == [dtype]


def test_it_charts_gradients_at_unusual_values_and_in_16_bits(gradients: list[Case]) -> None:
    for tag in ("non-finite", "tails", "low-precision"):
        assert len({case.function for case in gradients if tag in case.tags}) >= LEAST_UNUSUAL, tag


def test_a_second_derivative_that_differences_contradict_has_no_reference() -> None:
    """The second derivative of the variance lacks a part, which the page of defects explains."""
    (reason,) = reasons_of("tf.nn.moments", "float32-one-vector-1")
    assert "raises" in reason


@pytest.mark.parametrize(("name", "reason"), [
    ("tf.nn.relu", "zero"), ("tf.negative", "zero"), ("tf.sqrt", "not finite"),
])  # fmt: skip
def test_a_second_derivative_that_shows_nothing_has_no_case(name: str, reason: str) -> None:
    assert any(reason in text for text in reasons_of(name)), name


def reasons_of(function: str, name: str = "") -> list[str]:
    """The reasons for which samples of a function's second derivative are left out."""
    left_out = json.loads((SUITE / LISTED_VARIANTS).read_text())["left_out"]
    return [
        text
        for reason, owners in left_out.items()
        if reason not in COUNTED
        for sample, text in owners.get(function, {}).items()
        if sample.startswith(name) and sample.endswith("-second-order")
    ]


def bent(array: Any) -> Any:
    """The array, with the right first derivative and a second derivative that is 1 % too large."""

    @tf.custom_gradient
    def scaled(slope: Any) -> Any:
        return tf.identity(slope), lambda other: other * 1.01

    @tf.custom_gradient
    def same(value: Any) -> Any:
        return tf.identity(value), scaled

    return same(array)


@pytest.mark.parametrize("name", ["tf.tanh", "tf.matmul", "tf.nn.softmax"])
def test_a_wrong_second_derivative_is_noticed(cpu: Device, functions: dict[str, Function], name: str) -> None:
    function = cpu.lookup(name)

    def wrong(*arguments: Any, **options: Any) -> Any:
        floats = lambda value: isinstance(value, tf.Tensor) and value.dtype.is_floating  # noqa: E731
        bend = lambda value: bent(value) if floats(value) else value  # noqa: E731
        return function(*map(bend, arguments), **{key: bend(value) for key, value in options.items()})

    for case in functions[name].cases:
        if GRADIENT in case.tags:
            verdict = run(cpu, dataclasses.replace(case, given=wrong)).verdict
            assert verdict == (Verdict.failed if "second-order" in case.tags else Verdict.passed), case.id


@pytest.mark.parametrize("name", ["tf.tanh", "tf.matmul", "tf.gather"])
def test_a_wrong_gradient_is_noticed(cpu: Device, functions: dict[str, Function], name: str) -> None:
    wrong = wrong_backward(cpu.lookup(name))
    cases = [case for case in functions[name].cases if "gradient" in case.tags]
    verdicts = {run(cpu, dataclasses.replace(case, given=wrong)).verdict for case in cases}
    assert verdicts == {Verdict.failed}


def test_the_mutants_of_a_gradient_are_wrong_forward_or_backward_and_have_no_other_dtype(
    cpu: Device, subject: Subject, functions: dict[str, Function]
) -> None:
    (case, *_) = [case for case in functions["tf.matmul"].cases if case.id.endswith("-gradient")]
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
