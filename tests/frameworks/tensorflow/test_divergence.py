"""For a wrong result of the compiler, the report names the first operation whose compiled result differs from the
host's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from protocol.enums import Ending, TimingPolicy
from runners.isolation.explanation import add_explanation
from runners.isolation.harness import FreeTimingLock, run_case
from runners.isolation.observations import ObservedEvidence
from runners.suite import divergence
from runners.suite.cases import Function
from runners.suite.device import Device
from runners.tensorflow.devices import Xla, in_graph


class Wrong(Xla):
    """A compiler that replaces one operation of every graph by another, so that its result is wrong."""

    def compiled(self, call: Callable[[], Any]) -> Callable[[], Any]:
        def compiled_call() -> Any:
            original = tf.raw_ops.Tanh
            tf.raw_ops.Tanh = lambda x, name=None: tf.raw_ops.Sigmoid(x=x)
            try:
                return in_graph(call, jit_compile=True)()
            finally:
                tf.raw_ops.Tanh = original

        return compiled_call


@pytest.fixture(scope="module")
def wrong(cpu: Device) -> Device:
    return Wrong()


def explanation(
    device: Device, call: Callable[..., Any], reference: Callable[..., Any], **fields: Any
) -> ObservedEvidence:
    """The evidence, with the explanation, of a function whose only case returns a wrong value."""
    function = Function("planted", reference=reference, given=call)
    function.value("numbers", lambda inputs: (inputs.normal(2, 3),), prepare=_compile, **fields)
    (case,) = function.cases
    before = run_case(device, case, TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0)
    assert before.ending is Ending.mismatched
    after = add_explanation(device, case, before)
    assert after.evidence is not None
    return after.evidence


def _compile(context: Any, values: Any) -> Callable[[], Any]:
    return context.compiled(lambda: context.function(values))  # type: ignore[no-any-return]


def add_up(values: Any) -> Any:
    rows = tf.concat([values, values * 2], axis=0)
    return tf.reduce_sum(tf.raw_ops.Tanh(x=tf.reshape(rows, [3, 4])), axis=1) + 1


def numpy_sum(values: Any) -> Any:
    return np.tanh(np.concatenate([values, values * 2]).reshape(3, 4)).sum(axis=1) + 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_the_wrong_operation_is_named_among_right_ones(wrong: Device, dtype: str) -> None:
    evidence = explanation(wrong, add_up, numpy_sum, dtype=dtype)
    assert (evidence.operation, evidence.dtypes) == ("Tanh", [dtype])
    assert evidence.on_host == "passed"


@pytest.mark.parametrize("device", ["xla", "cpu"])
def test_right_operations_with_a_wrong_sum_are_not_accused(device: str, request: pytest.FixtureRequest) -> None:
    evidence = explanation(request.getfixturevalue(device), add_up, lambda values: numpy_sum(values) * 2)
    assert evidence.operation is None


def test_nothing_is_compared_when_the_time_is_up(wrong: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "COMPARED_FOR_S", 0.0)
    assert explanation(wrong, add_up, numpy_sum).operation is None


def test_large_operations_are_left_out(wrong: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "MAX_ELEMENTS", 5)
    assert explanation(wrong, add_up, numpy_sum).operation is None


def test_no_callback_is_left(wrong: Device) -> None:
    explanation(wrong, add_up, numpy_sum)
    from tensorflow.python.framework import op_callbacks

    assert not op_callbacks.should_invoke_op_callbacks()


@pytest.mark.parametrize(
    ("call", "in_graph"),
    [(lambda values: tf.keras.ops.stack(values), "failed_alike"), (lambda values: tf.linalg.eigvals(values), "passed")],
)
def test_the_refusal_of_a_graph_is_told_from_the_compilers(
    xla: Device, call: Callable[..., Any], in_graph: str
) -> None:
    function = Function("refused", given=call)
    function.behaviour("square", lambda inputs: (inputs.normal(3, 3),), lambda *observed: None, prepare=_compile)
    (case,) = function.cases
    before = run_case(xla, case, TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0)
    evidence = add_explanation(xla, case, before).evidence
    assert evidence is not None
    assert (before.ending, evidence.on_host, evidence.in_graph) == (Ending.raised, "passed", in_graph)
