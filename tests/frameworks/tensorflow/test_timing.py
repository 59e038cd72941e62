"""A steady sample lasts as long as its call, and the cold sample includes the compilation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.autograph.impl import api

from runners.isolation import timing
from runners.suite.device import Device
from tests.frameworks.common.clocks import assert_told, hold


def test_a_call_is_as_long_as_its_work(cpu: Device) -> None:
    values = cpu.to_device(np.ones(3), "float32")

    def hold_values(array: tf.Tensor) -> tf.Tensor:
        hold()
        return array

    call = tf.function(lambda: tf.py_function(hold_values, [values], tf.float32) + 1)
    assert_told(call, cpu.wait)


def test_the_cold_call_holds_the_compilation_and_no_other_does(xla: Device) -> None:
    values = xla.to_device(np.ones((17, 19)), "float32")
    traces = 0

    def work() -> tf.Tensor:
        nonlocal traces
        traces += 1
        return tf.tanh(tf.linalg.matmul(values, values, transpose_b=True)) * 3

    call = xla.compiled(work)
    _, cold_ms = timing.cold(call, xla.wait)
    in_cold = traces
    steady = timing.steady(call, xla.wait, budget_s=0.05)
    assert traces == in_cold > 0
    assert cold_ms > 10 * min(steady.milliseconds)


def test_what_the_function_under_test_is_made_of_is_not_converted(xla: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """AutoGraph converts a user's function. It would also convert a TensorFlow function behind ``partial``, and the
    measured time would be that of the conversion."""
    modules = []
    convert = api._convert_actual

    def note(entity: Any, context: Any) -> Any:
        modules.append(entity.__module__)
        return convert(entity, context)

    monkeypatch.setattr(api, "_convert_actual", note)
    values = xla.to_device(np.ones((5, 5)), "float32")
    call = partial(tf.linalg.matmul, values, values)
    tf.function(call, jit_compile=True)()
    assert [module for module in modules if module.startswith("tensorflow")], "as by itself it is"
    modules.clear()
    xla.compiled(call)()
    assert not [module for module in modules if module.startswith("tensorflow")]


def test_a_small_array_is_an_argument_of_what_is_compiled(xla: Device) -> None:
    """Otherwise TensorFlow would make a constant of a small array on the host, and a compiler could compute with it in
    advance."""
    values = xla.to_device(np.ones((2, 3)), "float32")
    call: Any = xla.compiled(lambda: tf.tanh(values))
    graph = call.get_concrete_function().graph
    assert [captured_array is values for captured_array, _ in graph.captures] == [True]
    assert "Const" not in {operation.type for operation in graph.get_operations()}
