"""Outcomes on the toy accelerator: existing kernels pass, missing kernels raise errors, and fallbacks are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from protocol.enums import Ending, Placement, Verdict
from protocol.outcomes import Outcome
from runners.suite.cases import Context, Function
from runners.suite.device import Device, Proof
from runners.torch.devices import TorchDevice

OutcomeOf = Callable[..., Outcome]


def argsort() -> Function:
    function = Function("torch.argsort", reference=np.argsort)
    function.value("distinct", lambda inputs: (inputs.distinct(6),))
    return function


def test_an_addition_stays_on_the_device(toy: Device, outcome_of: OutcomeOf) -> None:
    add = Function("torch.add", reference=np.add)
    add.value("plain", lambda inputs: (inputs.normal(4), inputs.normal(4)))
    outcome = outcome_of(toy, add)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device)
    assert outcome.proof.devices == ["toy:0"]
    assert outcome.proof.fallbacks == {}


def test_an_operation_without_a_kernel_is_missing_in_the_words_of_torch(toy: Device, outcome_of: OutcomeOf) -> None:
    tangent = Function("torch.tan", reference=np.tan)
    tangent.value("plain", lambda inputs: (inputs.normal(4),))
    outcome = outcome_of(toy, tangent)
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.raised)
    assert outcome.evidence is not None
    assert outcome.evidence.exception == "builtins.NotImplementedError"
    assert str(outcome.evidence.message).startswith(
        "Could not run 'aten::tan.out' with arguments from the 'toy' backend"
    )


def test_sorting_is_right_and_seen_to_fall_back(toy: Device, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(toy, argsort())
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back)
    assert outcome.proof.fallbacks == {"aten::sort": 1}
    assert outcome.proof.devices == ["toy:0"], "its arrays alone would not tell"


def negation() -> Function:
    function = Function("torch.neg", reference=np.negative)
    function.value("plain", lambda inputs: (inputs.normal(4),))
    return function


def test_a_fallback_is_seen_where_gradients_are_recorded(toy: Device, outcome_of: OutcomeOf) -> None:
    sort = Function(
        "torch.sort",
        reference=np.sort,
        prepare=lambda context, values: lambda: context.function(values.requires_grad_())[0].detach(),
    )
    sort.value("distinct", lambda inputs: (inputs.distinct(6),))
    outcome = outcome_of(toy, sort)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back), outcome.evidence
    assert outcome.proof.fallbacks == {"aten::sort": 1}


def test_numbers_beside_arrays_and_new_arrays_stay_on_the_device(toy: Device, outcome_of: OutcomeOf) -> None:
    function = Function(
        "torch.mul",
        reference=lambda values: (values * 2 + 1) / 3,
        prepare=lambda context, values: (
            lambda: (context.function(values, 2) + torch.rand(4, device=context.device) * 0 + 1) / 3.0
        ),
    )
    function.value("numbers", lambda inputs: (inputs.normal(4),))
    outcome = outcome_of(toy, function)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.evidence


def squared_gradient(context: Context, values: Any) -> Callable[[], Any]:
    values.requires_grad_()
    return lambda: context.function((values * values).sum(), values)[0]


def test_a_gradient_stays_on_the_device(toy: Device, outcome_of: OutcomeOf) -> None:
    function = Function("torch.autograd.grad", reference=lambda values: 2 * values, prepare=squared_gradient)
    function.value("square", lambda inputs: (inputs.normal(4),))
    outcome = outcome_of(toy, function)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.evidence


class Blind:
    """A device without any watch."""

    @contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        yield

    @contextmanager
    def tracing(self, proof: Proof) -> Iterator[None]:
        yield


@pytest.mark.parametrize("function", [argsort(), negation()])
def test_a_device_that_counts_nothing_is_never_known_to_have_worked(
    toy: TorchDevice, outcome_of: OutcomeOf, function: Function
) -> None:
    blind = type("BlindToy", (Blind, type(toy)), {})()
    outcome = outcome_of(blind, function)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.unknown)
    assert outcome.proof.devices == ["toy:0"]


def test_what_was_not_counted_is_not_known_to_have_executed(toy: TorchDevice, outcome_of: OutcomeOf) -> None:
    class Looking(Blind):
        @contextmanager
        def counting(self, proof: Proof) -> Iterator[None]:
            yield
            proof.counted = True

    looking = type("LookingToy", (Looking, type(toy)), {})()
    assert outcome_of(looking, negation()).placement is Placement.unknown


def test_counters_of_its_own_count_without_a_trace(toy: TorchDevice, outcome_of: OutcomeOf) -> None:
    class Counting(Blind):
        @contextmanager
        def counting(self, proof: Proof) -> Iterator[None]:
            yield
            proof.counted = True
            proof.executions(1)

    counting = type("CountingToy", (Counting, type(toy)), {})()
    assert outcome_of(counting, negation()).placement is Placement.on_device


def test_kernels_of_its_own_are_counted_and_views_are_none(toy: Device, outcome_of: OutcomeOf) -> None:
    assert outcome_of(toy, negation()).proof.executed == 1
    view = Function("torch.Tensor.view", reference=np.reshape)
    view.value("matrix", lambda inputs: (inputs.normal(2, 3), (3, 2)))
    outcome = outcome_of(toy, view)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.unknown)
    assert outcome.proof.executed == 0


def test_a_call_that_fails_when_it_is_watched_is_unknown(toy: Device, outcome_of: OutcomeOf) -> None:
    calls = iter([True])
    once = Function(
        "torch.neg",
        reference=np.negative,
        prepare=lambda context, values: lambda: next(calls) and context.function(values),
    )
    once.value("plain", lambda inputs: (inputs.normal(4),))
    assert outcome_of(toy, once).placement is Placement.unknown


def test_a_fallback_is_not_blamed_on_the_next_case(toy: Device, outcome_of: OutcomeOf) -> None:
    assert outcome_of(toy, argsort()).placement is Placement.fell_back
    assert outcome_of(toy, negation()).placement is Placement.on_device


def test_a_result_is_never_written_into_less_or_more_than_its_own_room(toy: Device, outcome_of: OutcomeOf) -> None:
    array = toy.to_device(np.ones(3), "float32")
    outcome = Function(
        "torch.exp", reference=np.exp, prepare=lambda context, values: lambda: context.function(values, out=room)
    )
    outcome.value("out", lambda inputs: (inputs.normal(3),))
    room = torch.zeros(2, 3, device=array.device)
    assert outcome_of(toy, outcome).verdict is Verdict.failed
    assert toy.to_host(room).values.tolist() == [[0, 0, 0], [0, 0, 0]]
