"""A steady sample is as long as its call, and the cold one holds the compilation."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from runners.isolation import timing
from runners.suite.device import Device
from tests.framework.clocks import assert_told, hold


def test_a_call_is_as_long_as_its_work(cpu: Device) -> None:
    values = cpu.to_device(np.ones(3), "float32")

    def held(array: tf.Tensor) -> tf.Tensor:
        hold()
        return array

    call = tf.function(lambda: tf.py_function(held, [values], tf.float32) + 1)
    assert_told(call, cpu.wait)


def test_the_cold_call_holds_the_compilation_and_no_other_does(xla: Device) -> None:
    values = xla.to_device(np.ones((17, 19)), "float32")
    traced = 0

    def work() -> tf.Tensor:
        nonlocal traced
        traced += 1
        return tf.tanh(tf.linalg.matmul(values, values, transpose_b=True)) * 3

    compiled = xla.compiled(work)
    _, cold_ms = timing.cold(compiled, xla.wait)
    in_cold = traced
    steady = timing.steady(compiled, xla.wait, budget_s=0.05)
    assert traced == in_cold > 0
    assert cold_ms > 10 * min(steady.milliseconds)
