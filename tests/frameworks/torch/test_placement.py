"""Proof of placement: hidden fallbacks are detected, and calls that stay on the device are not reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch_xla.debug.metrics as metrics

from protocol.enums import Placement, Verdict
from protocol.outcomes import Outcome
from runners.suite.cases import Context, Function
from runners.suite.device import Device
from runners.torch.placement.metrics import Metrics

OutcomeOf = Callable[..., Outcome]


def _complex_eigvals(matrix: Any) -> Any:
    return np.linalg.eigvals(matrix).astype(complex)


def test_an_addition_stays_on_the_device(xla: Device, outcome_of: OutcomeOf) -> None:
    add = Function("torch.add", reference=np.add)
    add.value("plain", lambda inputs: (inputs.normal(4), inputs.normal(4)))
    outcome = outcome_of(xla, add)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device)
    assert outcome.proof.devices == ["xla:0"]
    assert outcome.proof.fallbacks == {}


def test_eigvals_on_xla_is_seen_to_fall_back(xla: Device, outcome_of: OutcomeOf) -> None:
    eigvals = Function("torch.linalg.eigvals", reference=_complex_eigvals)
    eigvals.value("diagonal", lambda inputs: (np.diag([1.0, 2.0, 4.0]),))
    outcome = outcome_of(xla, eigvals)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back)
    assert outcome.proof.fallbacks == {"aten::linalg_eig": 2}, "the first call and a later one"
    assert outcome.proof.devices == ["xla:0"], "its arrays alone would not tell"


def test_nonzero_on_xla_is_seen_to_fall_back(xla: Device, outcome_of: OutcomeOf) -> None:
    nonzero = Function("torch.nonzero", reference=np.argwhere)
    nonzero.value("integers", lambda inputs: (inputs.integers(6, low=0, high=2),))
    outcome = outcome_of(xla, nonzero)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back)
    assert outcome.proof.fallbacks == {"aten::nonzero": 2}


def test_a_fallback_is_not_blamed_on_the_next_case(xla: Device, outcome_of: OutcomeOf) -> None:
    nonzero = Function("torch.nonzero", reference=np.argwhere)
    nonzero.value("integers", lambda inputs: (inputs.integers(6, low=0, high=2),))
    negative = Function("torch.neg", reference=np.negative)
    negative.value("plain", lambda inputs: (inputs.normal(4),))
    assert outcome_of(xla, nonzero).placement is Placement.fell_back
    assert outcome_of(xla, negative).placement is Placement.on_device


def _beside_the_host(context: Context, *arguments: Any) -> Callable[[], Any]:
    return lambda: context.function(*arguments, torch.ones(4))


def test_a_mix_of_device_and_host_that_silently_succeeds_is_seen(xla: Device, outcome_of: OutcomeOf) -> None:
    add = Function("torch.add", reference=lambda values: values + 1, prepare=_beside_the_host)
    add.value("mixed", lambda inputs: (inputs.normal(4),))
    outcome = outcome_of(xla, add)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back)
    assert outcome.proof.fallbacks == {"aten::add (host arrays)": 1}


def test_a_result_on_the_host_is_a_fallback(xla: Device, outcome_of: OutcomeOf) -> None:
    to = Function(
        "torch.Tensor.to",
        reference=lambda values: values,
        prepare=lambda context, values: lambda: context.function(values, "cpu"),
    )
    to.value("host", lambda inputs: (inputs.normal(4),))
    assert outcome_of(xla, to).placement is Placement.fell_back


def test_fetching_one_value_is_not_a_fallback_and_executes_nothing(xla: Device, outcome_of: OutcomeOf) -> None:
    item = Function("torch.Tensor.item", reference=float)
    item.value("one", lambda inputs: (inputs.normal(),))
    outcome = outcome_of(xla, item)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.unknown)
    assert (outcome.proof.fallbacks, outcome.proof.executed) == ({}, 0)


def test_a_function_without_arrays_out_is_placed_by_those_that_went_in(xla: Device, outcome_of: OutcomeOf) -> None:
    close = Function("torch.allclose", reference=np.allclose)
    close.value("matrices", lambda inputs: (inputs.normal(2, 3), inputs.normal(2, 3)))
    assert outcome_of(xla, close).placement is Placement.on_device


def test_what_executes_nothing_is_nowhere_known_to_have_run(xla: Device, outcome_of: OutcomeOf) -> None:
    detach = Function("torch.Tensor.detach", reference=np.copy)
    detach.value("matrix", lambda inputs: (inputs.normal(2, 3),))
    outcome = outcome_of(xla, detach)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.unknown)
    assert outcome.proof.executed == 0


def test_a_new_shape_is_executed_where_arrays_are_computed_when_they_are_needed(
    xla: Device, outcome_of: OutcomeOf
) -> None:
    reshape = Function("torch.reshape", reference=np.reshape)
    reshape.value("matrix", lambda inputs: (inputs.normal(2, 3), (3, 2)))
    outcome = outcome_of(xla, reshape)
    assert (outcome.placement, outcome.proof.executed) == (Placement.on_device, 2)


def _unfinished_input(context: Context, values: Any) -> Callable[[], Any]:
    """The input is not yet computed when the call begins, and the call does nothing."""
    pending = values + 1
    return lambda: context.function(pending)


def test_what_the_inputs_left_to_compute_is_no_work_of_the_call(xla: Device, outcome_of: OutcomeOf) -> None:
    size = Function("torch.Tensor.size", reference=np.shape, prepare=_unfinished_input)
    size.value("matrix", lambda inputs: (inputs.normal(2, 3),))
    assert outcome_of(xla, size).proof.executed == 0


def _around(context: Context, values: Any) -> Callable[[], Any]:
    """The host works before and after the function, but not in it."""

    def call() -> Any:
        with context.surroundings():
            positives = values[values > 0]
        size = context.function(positives)
        with context.surroundings(size):
            torch.linalg.eigvals(values)
        return size

    return call


def test_work_of_the_host_around_the_function_is_not_charged_to_it(xla: Device, outcome_of: OutcomeOf) -> None:
    function = Function("torch.neg", reference=lambda values: -values[values > 0], prepare=_around)
    function.value("matrix", lambda inputs: (np.diag([1.0, 2.0]),))
    outcome = outcome_of(xla, function)
    assert (outcome.verdict, outcome.placement, outcome.proof.fallbacks) == (Verdict.passed, Placement.on_device, {})


def test_a_pause_of_the_watch_computes_nothing_before_its_time(xla: Device, outcome_of: OutcomeOf) -> None:
    executions: list[int] = []

    def prepare(context: Context, values: Any) -> Callable[[], Any]:
        def call() -> Any:
            before = Metrics.read(metrics).executions
            with context.surroundings():
                more = values + 1
            executions.append(Metrics.read(metrics).executions - before)
            return context.function(more)

        return call

    function = Function("torch.neg", lambda values: -(values + 1), prepare)
    function.value("matrix", lambda inputs: (inputs.normal(2, 3),))
    outcome = outcome_of(xla, function)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.evidence
    assert set(executions) == {0}


def test_without_any_array_nothing_is_claimed(xla: Device, outcome_of: OutcomeOf) -> None:
    function = Function("torch.initial_seed", reference=torch.initial_seed)
    function.value("seed", lambda inputs: ())
    assert outcome_of(xla, function).placement is Placement.unknown


def test_host_only_is_declared_and_overrides_what_is_seen(xla: Device, outcome_of: OutcomeOf) -> None:
    size = Function("torch.Tensor.size", reference=np.shape, host_only="a shape is a tuple of the host")
    size.value("matrix", lambda inputs: (inputs.normal(2, 3),))
    assert outcome_of(xla, size).placement is Placement.host_only


@pytest.mark.parametrize(
    ("name", "reference"), [("torch.linalg.eigvals", _complex_eigvals), ("torch.nonzero", np.argwhere)]
)
def test_on_the_host_itself_nothing_falls_back(
    cpu: Device, outcome_of: OutcomeOf, name: str, reference: Callable[..., Any]
) -> None:
    function = Function(name, reference=reference)
    function.value("diagonal", lambda inputs: (np.diag([1.0, 2.0, 4.0]),))
    outcome = outcome_of(cpu, function)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device)
