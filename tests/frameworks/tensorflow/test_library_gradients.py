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

from freezing.common.differences import weights_of
from freezing.common.gate import SampleGate
from freezing.common.parts import COUNTED, LISTED_VARIANTS
from freezing.common.variants import Call
from freezing.common.wrong import WRONG
from freezing.tensorflow.functions import PublicFunction
from freezing.tensorflow.gradients import (
    AT_LIMITS,
    BY_DEFINITION,
    FIRST,
    SECOND,
    Derivative,
    DifferencesOnly,
    at_limits,
    by_differences,
    gradient_differences,
    is_written_out,
    sample_of,
)
from freezing.tensorflow.variants import SUITE
from freezing.tensorflow.varied import TIED
from freezing.tensorflow.wrong_on_host import WRONG_GRADIENTS, wrong_case
from protocol.enums import GRADIENT, WRONG_ON_HOST, Ending, Verdict
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
        end = f"-{WRONG}" if WRONG_ON_HOST in case.tags else ""
        assert case.id.endswith((f"-gradient{end}", f"-second-order{end}")), case.id
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
def test_a_gradient_in_16_bits_is_that_of_the_weighted_sum(dtype: str) -> None:
    pack = PackWriter()
    array = pack.add(np.array([0.5, -1.0], np.float32), dtype)
    case = {"name": "one", "dtype": dtype, "arrays": [array], "call": '{"tuple":[[{"array":0}],{"mapping":[]}]}'}
    function = PublicFunction("tf.math.square")
    sample = sample_of(function, case, FIRST, [], pack)
    gate = SampleGate(Derivative(function, FIRST), pack)
    gate.admit([sample], 1)
    (admitted,) = gate.cases
    assert (admitted["name"], admitted["dtype"]) == ("one-gradient", dtype)
    (slopes,) = map(pack.array, admitted["expected"])
    assert slopes.tolist() == (np.array([1.0, -2.0]) * weights_of((2,))).tolist()


ONE = '{"tuple":[[{"array":0}],{"mapping":[]}]}'


def derivative_of(name: str, order: Any, *values: float, scale: float = 1) -> tuple[Any, Any, PackWriter]:
    """The derivative of a function, a sample of it, and their pack."""
    pack, function = PackWriter(), PublicFunction(name)
    digest = pack.add(np.array(values, np.float32), "float32")
    case = {"name": "one", "dtype": "float32", "arrays": [digest], "call": ONE}
    return Derivative(function, order), sample_of(function, case, order, [], pack, scale=scale), pack


@pytest.mark.parametrize(("name", "values", "slopes"), [
    ("tf.reduce_max", (1, 3, 3, 3), [0, 1 / 3, 1 / 3, 1 / 3]),
    ("tf.reduce_max", (1, 2, np.nan), [np.nan] * 3),
    ("tf.reduce_mean", (1, 2, np.nan), [1 / 3] * 3),
])  # fmt: skip
def test_a_gradient_in_a_tie_or_at_nan_is_the_one_that_tensorflow_defines(
    name: str, values: tuple[float, ...], slopes: list[float]
) -> None:
    derivative, sample, pack = derivative_of(name, BY_DEFINITION, *values)
    gate = SampleGate(derivative, pack)
    gate.admit([sample], 1)
    (case,) = gate.cases
    weight = weights_of(()).item()
    np.testing.assert_allclose(pack.array(case["expected"][0]), np.array(slopes) * weight, rtol=1e-6)


@pytest.mark.parametrize(("function", "is_defined"), [
    (tf.reduce_max, True), (tf.tanh, True), (tf.nn.relu, False), (tf.sort, False),
])  # fmt: skip
def test_a_backward_pass_with_a_kernel_of_its_own_defines_nothing(function: Any, is_defined: bool) -> None:
    array, weights = tf.constant([1.0, np.nan]), tf.ones([] if function is tf.reduce_max else [2])
    assert is_written_out(ways.gradient(function, [array], {}, [0], [weights])) is is_defined


@pytest.mark.parametrize(("name", "values", "has_kink"), [
    ("tf.reduce_max", (1, 3, 3), True), ("tf.reduce_max", (1, 2, 3), False), ("tf.tanh", (1, 3, 3), False),
])  # fmt: skip
def test_equal_entries_compete_if_the_slopes_on_both_sides_differ(
    name: str, values: tuple[float, ...], has_kink: bool
) -> None:
    derivative, sample, pack = derivative_of(name, BY_DEFINITION, *values)
    assert derivative.has_kink(sample, pack) is has_kink


def test_in_a_tie_each_float_is_one_of_two_which_arrays_of_one_shape_share() -> None:
    arrays = tuple(np.array(values, np.float32) for values in ((1, 2, 3), (4, 5, 6), (7, 8)))
    new_call = TIED.of(Call("f/one", "float32", frozenset(), arrays, json.loads(ONE), frozenset(range(3))))
    assert new_call is not None
    pairs = ({1, 3}, {1, 3}, {7, 8})
    assert all(set(array.tolist()) <= pair for array, pair in zip(new_call.arrays, pairs, strict=True))


def test_larger_weights_make_a_larger_gradient() -> None:
    _, sample, pack = derivative_of("tf.tanh", FIRST, 0.5, -1.0, scale=32)
    assert pack.array(sample.arrays[1]).tolist() == (32 * weights_of((2,))).tolist()


def test_the_case_of_a_gradient_that_the_cpu_gets_wrong_expects_the_right_one() -> None:
    _, sample, pack = derivative_of("tf.nn.silu", AT_LIMITS, 1.0, np.inf)
    case = wrong_case(DifferencesOnly(PublicFunction("tf.nn.silu"), AT_LIMITS), sample, pack)
    assert case is not None
    assert (case["name"], WRONG_ON_HOST in case["tags"]) == ("one-gradient-wrong", True)
    np.testing.assert_allclose(pack.array(case["expected"][0])[1], weights_of((2,))[1], rtol=1e-6)
    assert wrong_case(*derivative_of("tf.nn.softplus", AT_LIMITS, 1.0, np.inf)) is None


def test_a_reviewed_gradient_has_a_case_that_fails_on_the_cpu(cpu: Device, gradients: list[Case]) -> None:
    wrong = [case for case in gradients if WRONG_ON_HOST in case.tags]
    assert {case.function for case in wrong} == set(WRONG_GRADIENTS)
    for case in wrong:
        assert run(cpu, case).ending is Ending.mismatched, case.id


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
