"""A steady sample lasts as long as its call, and the cold sample includes the compilation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from runners.isolation import timing
from runners.suite.device import Device
from tests.frameworks.common.clocks import assert_told, hold


@pytest.fixture(autouse=True)
def compiles() -> Iterator[None]:
    """Turns the cache of compiled programs off, because a cold call is measured."""
    jax.config.update("jax_enable_compilation_cache", False)
    # JAX asks for the setting once.
    compilation_cache.reset_cache()
    yield
    jax.config.update("jax_enable_compilation_cache", True)
    compilation_cache.reset_cache()


@pytest.fixture
def compilations() -> Iterator[list[float]]:
    """The milliseconds of every compilation that JAX reports."""
    times_ms: list[float] = []

    def note(event: str, seconds: float, **_: object) -> None:
        if event.endswith("/backend_compile_duration"):
            times_ms.append(seconds * 1e3)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield times_ms
    jax.monitoring.unregister_event_duration_listener(note)


def test_a_call_is_as_long_as_its_work(cpu: Device) -> None:
    values = cpu.to_device(np.ones(3), "float32")

    def hold_values(array: np.ndarray) -> np.ndarray:
        hold()
        return array

    assert_told(jax.jit(lambda: jax.pure_callback(hold_values, values, values) + 1), cpu.wait)


def test_a_call_that_returns_before_its_work_is_done_is_waited_for(cpu: Device) -> None:
    matrix = cpu.to_device(np.eye(256), "float32")
    call = jax.jit(lambda: jax.lax.fori_loop(0, 100, lambda _, product: product @ matrix, matrix))
    ready_before: list[bool] = []

    def wait(tree: Any) -> None:
        ready_before.extend(array.is_ready() for array in jax.tree.leaves(tree))
        cpu.wait(tree)
        assert all(array.is_ready() for array in jax.tree.leaves(tree))

    timing.steady(call, wait, budget_s=0.05)
    assert not all(ready_before)


def test_the_cold_call_holds_the_compilation_and_no_other_does(cpu: Device, compilations: list[float]) -> None:
    values = cpu.to_device(np.ones((17, 19)), "float32")
    call = jax.jit(lambda: jnp.tanh(values @ values.T) * 3)
    compilations.clear()
    _, cold_ms = timing.cold(call, cpu.wait)
    assert len(compilations) == 1
    assert cold_ms > sum(compilations)
    timing.steady(call, cpu.wait, budget_s=0.05)
    assert len(compilations) == 1
