"""Steady samples are honest, and the cold call holds the compilation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from runners.isolation import timing
from runners.suite.device import Device


def test_every_call_on_a_lazy_device_is_its_own(xla: Device) -> None:
    """Calls not waited for would merge into one graph, and their time would be that of building it."""
    import torch_xla.debug.metrics as metrics

    values = xla.to_device(np.ones(8), "float32")
    calls = 0

    def call() -> Any:
        nonlocal calls
        calls += 1
        return values + 1

    metrics.clear_metrics()
    timing.steady(call, xla.wait, budget_s=0.05)
    executions = metrics.metric_data("ExecuteTime")[0]
    assert executions == calls


def test_the_cold_call_holds_the_compilation_and_no_other_does(xla: Device) -> None:
    import torch_xla.debug.metrics as metrics

    values = xla.to_device(np.ones((17, 19)), "float32")

    def call() -> Any:
        return torch.tanh(values @ values.T) * 3

    xla.wait(None)
    metrics.clear_metrics()
    _, cold_ms = timing.cold(call, xla.wait)
    compilations, nanoseconds, _ = metrics.metric_data("CompileTime")
    assert compilations == 1
    assert cold_ms * 1e6 > nanoseconds
    timing.steady(call, xla.wait, budget_s=0.05)
    assert metrics.metric_data("CompileTime")[0] == 1


def test_what_a_call_raises_leaves_garbage_collection_as_it_was(cpu: Device) -> None:
    import gc

    def call() -> Any:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        timing.steady(call, cpu.wait, budget_s=timing.BUDGET_S)
    assert gc.isenabled()
