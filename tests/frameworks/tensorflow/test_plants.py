"""Every planted fallback is detected, in the cold, the traced or a timed call. Honest calls and calls on the host are
not reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.framework import constant_op, ops

from protocol.enums import Placement, TimingPolicy, Verdict
from protocol.outcomes import Outcome
from runners.suite.cases import Function, Prepare
from runners.suite.device import Device, Proof
from tests.frameworks.tensorflow.plants import HONEST, NEVER_THERE, PLANTS

OutcomeOf = Callable[..., Outcome]


def negative(prepare: Prepare) -> Function:
    function = Function("tf.math.negative", np.negative, prepare)
    # More elements than TensorFlow takes for a constant.
    function.value("plant", lambda inputs: [inputs.normal(5, 40)])
    return function


def each_of(names: Iterable[str]) -> Any:
    return pytest.mark.parametrize("name", list(names))


@each_of(PLANTS)
def test_a_planted_fallback_is_seen(xla: Device, outcome_of: OutcomeOf, name: str) -> None:
    prepare, kernel = PLANTS[name]
    timing = TimingPolicy.steady if "call" in name else TimingPolicy.off
    outcome = outcome_of(xla, negative(prepare), timing)
    assert outcome.verdict is Verdict.passed, outcome.evidence
    assert outcome.placement is Placement.fell_back
    assert kernel in outcome.proof.fallbacks


@each_of(HONEST)
def test_an_honest_call_is_not_accused(xla: Device, outcome_of: OutcomeOf, name: str) -> None:
    outcome = outcome_of(xla, negative(HONEST[name]))
    assert outcome.verdict is Verdict.passed, outcome.evidence
    assert (outcome.placement, outcome.proof.fallbacks) == (Placement.on_device, {})
    assert outcome.proof.executed


@each_of(NEVER_THERE)
def test_a_call_that_executes_nothing_compiled_is_nowhere(xla: Device, outcome_of: OutcomeOf, name: str) -> None:
    outcome = outcome_of(xla, negative(NEVER_THERE[name]))
    assert outcome.verdict is Verdict.passed, outcome.evidence
    assert (outcome.placement, outcome.proof.executed) == (Placement.unknown, 0)


@each_of(PLANTS)
def test_the_host_is_never_accused(cpu: Device, outcome_of: OutcomeOf, name: str) -> None:
    outcome = outcome_of(cpu, negative(PLANTS[name][0]))
    assert outcome.verdict is Verdict.passed, outcome.evidence
    assert (outcome.placement, outcome.proof.fallbacks) == (Placement.on_device, {})


def test_a_watch_leaves_nothing_behind(xla: Device) -> None:
    def places() -> list[Any]:
        base = ops._EagerTensorBase
        return [
            base._numpy,
            constant_op.convert_to_eager_tensor,
            pywrap_tfe.TFE_Py_Execute,
            pywrap_tfe.TFE_Py_FastPathExecute,
        ]

    before = places()
    with xla.counting(Proof()), xla.tracing(Proof()):
        assert places() != before
    assert places() == before
    assert memoryview(tf.ones(3)).tolist() == [1, 1, 1]


def test_arrays_that_numpy_converts_keep_their_dtype_while_they_are_watched(xla: Device) -> None:
    array = tf.constant([1.5, 2.5])
    with xla.counting(Proof()):
        assert np.asarray(array).dtype == np.float32
        assert np.asarray(array, dtype="float64").tolist() == [1.5, 2.5]
        assert np.array(array, copy=True).tolist() == [1.5, 2.5]
