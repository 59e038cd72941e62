"""Proof of placement: each way in which TensorFlow can leave the device raises an error or is detected."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import script_ops

from protocol.enums import Ending, Placement, Verdict
from protocol.outcomes import Outcome
from runners.suite.cases import Context, Function, Prepare
from runners.suite.device import Device, DeviceUnavailableError
from runners.tensorflow import FRAMEWORK

OutcomeOf = Callable[..., Outcome]
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, Outcome]:
    """The outcomes from a process with several devices (``elsewhere.py``)."""
    command = [sys.executable, "-m", "tests.frameworks.tensorflow.elsewhere"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return {
        name: Outcome.model_validate(outcome) for name, outcome in json.loads(answer.stdout.splitlines()[-1]).items()
    }


@pytest.mark.parametrize("name", ["eager", "function", "graph", "created"])
def test_everything_is_on_the_forced_device_and_nothing_on_the_first(elsewhere: dict[str, Outcome], name: str) -> None:
    outcome = elsewhere[name]
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.evidence
    assert outcome.proof.devices == ["CPU:1"]
    assert outcome.proof.fallbacks == {}


def test_the_elements_of_a_data_set_are_where_they_are_read(elsewhere: dict[str, Outcome]) -> None:
    outcome = elsewhere["data set"]
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.evidence
    assert outcome.proof.devices == ["CPU:1"]


def test_a_graph_that_enters_no_device_is_seen(elsewhere: dict[str, Outcome]) -> None:
    outcome = elsewhere["a graph without a device"]
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back)
    assert "CPU:0" in outcome.proof.devices
    assert outcome.proof.fallbacks["AddV2"] == 1


def test_arrays_are_not_silently_copied_to_another_device(elsewhere: dict[str, Outcome]) -> None:
    outcome = elsewhere["on the first"]
    assert outcome.ending is Ending.raised
    assert outcome.evidence is not None
    assert "Tensors on conflicting devices" in str(outcome.evidence.message)
    allowed_copy = elsewhere["on the first, allowed"]
    assert allowed_copy.verdict is Verdict.passed, "by itself TensorFlow would have copied them"
    assert allowed_copy.placement is Placement.fell_back


@pytest.mark.parametrize("name", ["taken to the first", "taken there and back"])
def test_arrays_that_are_copied_openly_are_seen(elsewhere: dict[str, Outcome], name: str) -> None:
    outcome = elsewhere[name]
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back)
    assert outcome.proof.fallbacks == {"Identity": 6, "AddV2": 3}


@pytest.mark.parametrize("name", ["no kernel", "no kernel, in a function"])
def test_an_operation_without_a_kernel_raises_and_is_not_taken_elsewhere(
    elsewhere: dict[str, Outcome], name: str
) -> None:
    outcome = elsewhere[name]
    assert outcome.ending is Ending.raised
    assert outcome.evidence is not None
    assert "Lu" in str(outcome.evidence.message)
    assert "XLA_CPU" in str(outcome.evidence.message)


def test_with_soft_placement_it_would_have_been_and_that_is_seen(elsewhere: dict[str, Outcome]) -> None:
    outcome = elsewhere["no kernel, allowed"]
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back)
    assert outcome.proof.fallbacks == {"Lu": 3}
    assert "CPU:0" in outcome.proof.devices


def test_a_device_that_is_not_there_raises_and_is_not_replaced(cpu: Device) -> None:
    raises = pytest.raises(tf.errors.InvalidArgumentError, match="Could not satisfy device specification")
    with raises, tf.device("/device:GPU:0"):
        tf.ones((2, 2))


def test_without_a_gpu_there_is_no_gpu_target() -> None:
    with pytest.raises(DeviceUnavailableError, match="sees no GPU") as refusal:
        FRAMEWORK.load_device("gpu").describe()
    assert "\n" not in str(refusal.value)


def double(values: Any) -> Any:
    return values * 2


def numpy_eagerly(context: Context, x: Any) -> Callable[[], Any]:
    return lambda: context.function(double, [x], tf.float32)


def within_a_function(context: Context, x: Any) -> Callable[[], Any]:
    function = tf.function(lambda array: context.function(double, [array], tf.float32))
    return lambda: function(x)


def over_a_data_set(context: Context, x: Any) -> Callable[[], Any]:
    rows = tf.data.Dataset.from_tensor_slices(x).map(lambda row: context.function(double, [row], tf.float32))
    return lambda: tf.stack(list(rows))


def in_a_graph(context: Context, x: Any) -> Callable[[], Any]:
    with tf.Graph().as_default() as graph, tf.device(context.device):
        result = context.function(double, [tf.constant(x.numpy())], tf.float32)
        result.set_shape(x.shape)
    return lambda: tf.constant(tf.compat.v1.Session(graph=graph).run(result))


@pytest.mark.parametrize(
    ("name", "prepare", "fallbacks"),
    [
        ("tf.numpy_function", numpy_eagerly, {"PyFunc": 3}),
        ("tf.numpy_function", within_a_function, {"PyFunc": 3}),
        ("tf.numpy_function", over_a_data_set, {"PyFunc": 9}),
        ("tf.numpy_function", in_a_graph, {"PyFunc": 3}),
        ("tf.py_function", numpy_eagerly, {"EagerPyFunc": 3}),
        ("tf.py_function", within_a_function, {"EagerPyFunc": 3}),
    ],
)
def test_python_on_the_host_is_seen_at_each_call(
    accelerator: Device, outcome_of: OutcomeOf, name: str, prepare: Prepare, fallbacks: dict[str, int]
) -> None:
    function = Function(name, lambda x: x * 2, prepare)
    function.value("doubled", lambda inputs: [inputs.normal(3, 4)])
    outcome = outcome_of(accelerator, function)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back), outcome.evidence
    assert outcome.proof.fallbacks.items() >= fallbacks.items()


def test_python_on_the_host_is_seen_where_nothing_is_traced_anew(accelerator: Device, outcome_of: OutcomeOf) -> None:
    traces = []

    @tf.function
    def old(x: Any) -> Any:
        traces.append(x)
        return tf.numpy_function(double, [x], tf.float32)

    old(tf.ones((3, 4)))
    function = Function("tf.numpy_function", lambda x: x * 2, lambda context, x: lambda: old(x))
    function.value("old", lambda inputs: [inputs.normal(3, 4)])
    outcome = outcome_of(accelerator, function)
    assert len(traces) <= 2, "traced once, and at most once more to be watched"
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back)
    assert outcome.proof.fallbacks == {"PyFunc": 3}


def test_numpy_takes_an_array_of_no_dimension_that_is_watched(accelerator: Device, outcome_of: OutcomeOf) -> None:
    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        return lambda: context.function(tf.constant(np.asarray(x)))

    function = Function("tf.math.negative", np.negative, prepare)
    function.value("read", lambda inputs: [inputs.normal()])
    outcome = outcome_of(accelerator, function)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.evidence
    assert outcome.proof.fallbacks == {}, "a single number is a decision"


def test_a_call_is_compiled_once_however_closely_it_is_watched(xla: Device, outcome_of: OutcomeOf) -> None:
    traces = []

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        def call() -> Any:
            traces.append(x)
            return context.function(x)

        return context.compiled(call)

    function = Function("tf.math.negative", np.negative, prepare)
    function.value("compiled", lambda inputs: [inputs.normal(4)])
    outcome = outcome_of(xla, function)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.evidence
    assert outcome.proof.executed == 3, "the first call, the one that is watched closely, and one from the seed"
    assert len(traces) == 1


def test_a_call_that_may_not_be_repeated_is_prepared_anew_to_be_watched(xla: Device, outcome_of: OutcomeOf) -> None:
    preparations = []

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        preparations.append(x)
        return context.compiled(lambda: context.function(x))

    function = Function("tf.math.negative", np.negative, prepare, unrepeatable="for this test")
    function.value("compiled", lambda inputs: [inputs.normal(4)])
    assert outcome_of(xla, function).verdict is Verdict.passed
    assert len(preparations) == 3


def test_python_on_the_host_is_not_blamed_on_the_next_case(accelerator: Device, outcome_of: OutcomeOf) -> None:
    function = Function("tf.numpy_function", lambda x: x * 2, numpy_eagerly)
    function.value("first", lambda inputs: [inputs.normal(4)])
    negative = Function("tf.math.negative", np.negative)
    negative.value("next", lambda inputs: [inputs.normal(4)])
    before = script_ops.FuncRegistry.__call__, script_ops.py_func_common
    assert outcome_of(accelerator, function).placement is Placement.fell_back
    assert (script_ops.FuncRegistry.__call__, script_ops.py_func_common) == before
    assert outcome_of(accelerator, negative).placement is Placement.on_device


def test_a_result_that_is_numpy_is_not_on_the_device(accelerator: Device, outcome_of: OutcomeOf) -> None:
    function = Function("tf.math.negative", np.negative, lambda context, x: lambda: context.function(x).numpy())
    function.value("fetched", lambda inputs: [inputs.normal(4)])
    assert outcome_of(accelerator, function).placement is Placement.fell_back


def test_without_any_array_nothing_is_claimed(accelerator: Device, outcome_of: OutcomeOf) -> None:
    function = Function("tf.add", lambda: True, prepare=lambda context: tf.executing_eagerly)
    function.value("eager", lambda inputs: [])
    assert outcome_of(accelerator, function).placement is Placement.unknown
