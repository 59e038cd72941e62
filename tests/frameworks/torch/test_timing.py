"""Steady samples measure complete calls, and the cold call includes the compilation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import torch

from protocol.enums import Placement, TimingPolicy, Verdict
from protocol.outcomes import Outcome
from runners.isolation import timing
from runners.suite.cases import Case, Context, Function, Inputs
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from tests.frameworks.common import second_shapes

OutcomeOf = Callable[..., Outcome]


def case_of(function: str, **options: Any) -> Case:
    def numbers(inputs: Inputs) -> tuple[np.ndarray[Any, Any]]:
        return (inputs.normal(4),)

    one = Function(function, **options)
    one.value("plain", numbers)
    return one.cases[-1]


def test_every_call_on_a_lazy_device_is_its_own(xla: Device) -> None:
    """Without a wait, calls would merge into one graph, and the measured time would be that of building the graph."""
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


def test_only_what_the_device_did_is_sampled(xla: Device, outcome_of: OutcomeOf) -> None:
    on_device = outcome_of(xla, case_of("torch.neg", reference=np.negative), TimingPolicy.steady)
    assert (on_device.verdict, on_device.placement) == (Verdict.passed, Placement.on_device)
    assert len(on_device.timing.samples_ms) >= timing.FEWEST_SAMPLES
    by_host = outcome_of(xla, case_of("torch.special.i0e", reference=scipy.special.i0e), TimingPolicy.steady)
    assert (by_host.verdict, by_host.placement) == (Verdict.passed, Placement.fell_back)
    assert by_host.timing.cold_ms is not None
    assert by_host.timing.samples_ms == []


def test_what_a_call_raises_leaves_garbage_collection_as_it_was(cpu: Device) -> None:
    import gc

    def call() -> Any:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        timing.steady(call, cpu.wait, budget_s=timing.BUDGET_S)
    assert gc.isenabled()


def test_a_second_shape_is_compiled_by_the_call_that_is_timed(xla: Device, outcome_of: OutcomeOf) -> None:
    """The preparation compiles the first shape. Later calls compile nothing."""
    import torch_xla.debug.metrics as metrics

    (case,) = second_shapes.cases_of(FRAMEWORK, "torch.erf")
    counts: list[int] = []

    def compilations() -> int:
        return int((metrics.metric_data("CompileTime") or (0,))[0])

    def prepare(context: Context, *arrays: Any) -> Callable[[], Any]:
        prepared_call = case.prepare(context, *arrays)

        def call() -> Any:
            xla.wait(None)
            before = compilations()
            result = prepared_call()
            xla.wait(result)
            counts.append(compilations() - before)
            return result

        return call

    outcome = outcome_of(xla, dataclasses.replace(case, prepare=prepare), TimingPolicy.steady)
    assert (outcome.verdict, outcome.timing.position) == (Verdict.passed, 1)
    assert outcome.timing.cold_ms is not None
    assert outcome.timing.samples_ms == []
    assert counts[0] == 1
    assert not any(counts[1:])
