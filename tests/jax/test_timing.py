"""Our steady medians are those of another clock, and the cold call holds the compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from runners import timing
from runners.devices import Device
from tests.framework.clocks import assert_agree, timed


def test_steady_medians_agree_with_timeit(cpu: Device) -> None:
    rng = np.random.default_rng(0)
    vector, matrix = cpu.put([rng.standard_normal(1_000), rng.standard_normal((128, 128))], "float32")
    jitted = jax.jit(lambda x: jnp.tanh(x @ x).sum(axis=0))
    calls: dict[str, Callable[[], Any]] = {
        "add": lambda: jnp.add(vector, vector),
        "exp": lambda: jnp.exp(matrix),
        "sort": lambda: jnp.sort(matrix),
        "matmul": lambda: matrix @ matrix,
        "jitted": lambda: jitted(matrix),
        "split": lambda: jnp.split(matrix, 4),
        "svd": lambda: jnp.linalg.svd(matrix[:32, :32]),
        "sum": lambda: jnp.sum(matrix),
        "cumsum": lambda: jnp.cumsum(vector),
        "concatenate": lambda: jnp.concatenate([matrix, matrix]),
        "argsort": lambda: jnp.argsort(vector),
        "where": lambda: jnp.where(matrix > 0, matrix, 0),
    }
    assert_agree(calls, cpu.wait, lambda call: timed(lambda: jax.block_until_ready(call())))


def test_the_cold_call_holds_the_compilation(cpu: Device) -> None:
    values = cpu.put(np.ones((17, 19)), "float32")
    compiled = jax.jit(lambda: jnp.tanh(values @ values.T) * 3)
    _, cold_ms = timing.cold(compiled, cpu.wait)
    steady_ms = timing.median(timing.steady(compiled, cpu.wait, budget_s=0.05).milliseconds)
    assert cold_ms > 10 * steady_ms
