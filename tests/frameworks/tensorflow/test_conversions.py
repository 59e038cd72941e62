"""No case is made from a TensorFlow call with an integer result that depends on rounding or on a conversion."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_callbacks

from freezing.common.gate import SampleGate
from freezing.common.rounding import BY_ROUNDING, UNCONVERTIBLE
from freezing.common.samples import Sample
from freezing.tensorflow.functions import PublicFunction
from freezing.tensorflow.rules import reason_undetermined, refusing_operation
from protocol.enums import DOCUMENTED_PER_DEVICE, REFUSES
from runners.suite.frozen import PackWriter
from tests.each import check_each

BY_ROUNDINGS: dict[str, Callable[[], Any]] = {
    "scaled": lambda: tf.image.adjust_saturation(tf.constant([[[0, 1, 2]], [[2, 1, 0]]]), 0.3),
    "mean": lambda: tf.cast(tf.reduce_mean(tf.constant([3.0, 2.0, 1.0])), tf.int32),
    "rounded half": lambda: tf.cast(tf.round(tf.sqrt(tf.constant([6.25]))), tf.int32),
    "what comes of it": lambda: 2 * tf.cast(tf.constant([0.1]) * 10.0, tf.int32),
}
UNCONVERTIBLES: dict[str, Callable[[], Any]] = {
    "not a number": lambda: tf.cast(tf.constant([math.nan]), tf.int32),
    "too large": lambda: tf.cast(tf.constant([300.0]), tf.uint8),
    "a refused size": lambda: tf.keras.ops.hanning(tf.constant(math.nan)),
}
DETERMINED: dict[str, Callable[[], Any]] = {
    "inputs": lambda: tf.cast(tf.constant([1.0, 2.5]), tf.int32),
    "sums of whole numbers": lambda: tf.cast(tf.reduce_sum(tf.constant([3.0, 2.0])), tf.int32),
    "halves of whole numbers": lambda: tf.cast(tf.constant([3.0, 2.0]) / 2.0, tf.int32),
    "far from a whole number": lambda: tf.cast(tf.constant([1.0]) / 3.0, tf.int32),
    "moved": lambda: tf.cast(tf.reshape(tf.stack([tf.constant(1.0)]), [1, 1]), tf.int32),
    "floats": lambda: tf.cast(tf.cast(tf.constant([0.1]) * 10.0, tf.int32), tf.float32),
    "a size": lambda: tf.keras.ops.hanning(tf.constant(5.0)),
    "refused for something else": lambda: tf.reshape(tf.constant([1.0]), [2]),
}


def test_a_rounding_a_conversion_or_neither_decides_whole_numbers() -> None:
    expectations = [(BY_ROUNDINGS, BY_ROUNDING), (UNCONVERTIBLES, UNCONVERTIBLE), (DETERMINED, None)]

    def check(member: tuple[str, Callable[[], Any], str | None]) -> None:
        _, call, reason = member
        assert reason_undetermined(call) == reason

    members = [(name, call, reason) for calls, reason in expectations for name, call in calls.items()]
    check_each(members, check, name=lambda member: member[0])
    assert not op_callbacks.should_invoke_op_callbacks()


def test_the_operation_that_refuses_is_named_where_tensorflow_names_it() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as refused:
        tf.keras.ops.inv(tf.zeros([2, 2]))
    refusal = refusing_operation(refused.value)
    assert refusal is not None
    assert refusal.operation == "tf.raw_ops.MatrixInverse"
    assert "not invertible" in refusal.message
    assert refusing_operation(ValueError("no operation")) is None


@pytest.mark.parametrize(
    ("name", "call", "tags"),
    [
        ("tf.keras.ops.inv", '{"tuple":[[{"array":0}],{"mapping":[]}]}', [DOCUMENTED_PER_DEVICE]),
        ("tf.linalg.diag_part", '{"tuple":[[{"array":0}],{"mapping":[["k",9]]}]}', []),
    ],
)
def test_a_refusal_that_the_operations_documentation_leaves_open_is_marked(
    name: str, call: str, tags: list[str]
) -> None:
    pack = PackWriter()
    digest = pack.add(tf.zeros([2, 2]).numpy(), "float32")
    gate = SampleGate(PublicFunction(name), pack)
    assert gate.admit_refused([Sample("float32-0-zeros", "float32", call, (digest,), ("plain", REFUSES), 4)], 1) == 1
    assert gate.cases[0]["tags"] == ["plain", REFUSES, *tags]


def test_a_refusal_of_what_nothing_converts_makes_no_case() -> None:
    pack = PackWriter()
    digest = pack.add(tf.constant(math.nan).numpy(), "float32")
    gate = SampleGate(PublicFunction("tf.keras.ops.hanning"), pack)
    call = '{"tuple":[[{"array":0}],{"mapping":[]}]}'
    sample = Sample("float32-0-not-a-number", "float32", call, (digest,), ("0-dim", REFUSES), 1)
    assert gate.admit_refused([sample], 1) == 0
