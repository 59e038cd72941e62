"""Our steady medians are those of another clock, and the cold call holds the compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners import timing
from runners.devices import Device
from tests.framework.clocks import assert_agree, timed


def test_steady_medians_agree_with_timeit(cpu: Device) -> None:
    rng = np.random.default_rng(0)
    vector, matrix = cpu.put([rng.standard_normal(1_000), rng.standard_normal((128, 128))], "float32")
    graph = tf.function(lambda: tf.reduce_sum(tf.tanh(matrix @ matrix), axis=0))
    calls: dict[str, Callable[[], Any]] = {
        "add": lambda: tf.add(vector, vector),
        "exp": lambda: tf.exp(matrix),
        "sum": lambda: tf.reduce_sum(matrix),
        "sort": lambda: tf.sort(matrix),
        "argsort": lambda: tf.argsort(vector),
        "matmul": lambda: matrix @ matrix,
        "concat": lambda: tf.concat([matrix, matrix], 0),
        "split": lambda: tf.split(matrix, 4),
        "cumsum": lambda: tf.cumsum(vector),
        "where": lambda: tf.where(matrix > 0, matrix, 0.0),
        "svd": lambda: tf.linalg.svd(matrix[:32, :32]),
        "function": graph,
    }
    assert_agree(calls, cpu.wait, timed)


def test_the_cold_call_holds_the_compilation(xla: Device) -> None:
    values = xla.put(np.ones((17, 19)), "float32")
    compiled = xla.compiled(lambda: tf.tanh(tf.linalg.matmul(values, values, transpose_b=True)) * 3)
    _, cold_ms = timing.cold(compiled, xla.wait)
    steady_ms = timing.median(timing.steady(compiled, xla.wait, budget_s=0.05).milliseconds)
    assert cold_ms > 10 * steady_ms
