"""Work on the host is detected even if it is hidden, and other calls are not reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from protocol.enums import Placement, TimingPolicy, Verdict
from protocol.outcomes import Outcome
from runners.suite.cases import Function
from runners.suite.device import Device
from tests.frameworks.torch.plants import FACTORIES, FALLBACKS, HONEST, Plant, doubling

OutcomeOf = Callable[..., Outcome]


@pytest.mark.parametrize("plant", FALLBACKS.values(), ids=FALLBACKS)
def test_work_on_the_host_is_seen(xla: Device, outcome_of: OutcomeOf, plant: Plant) -> None:
    outcome = outcome_of(xla, doubling(plant))
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back), outcome.evidence
    assert outcome.proof.devices == ["xla:0"] or "cpu" in outcome.proof.devices


@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
def test_work_on_the_host_in_some_calls_only_is_seen(
    xla: Device, outcome_of: OutcomeOf, factory: Callable[[], Plant]
) -> None:
    outcome = outcome_of(xla, doubling(factory()), TimingPolicy.steady)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back), outcome.evidence


@pytest.mark.parametrize("plant", HONEST.values(), ids=HONEST)
def test_work_on_the_device_is_not_accused(xla: Device, outcome_of: OutcomeOf, plant: Plant) -> None:
    outcome = outcome_of(xla, doubling(plant), TimingPolicy.steady)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.proof
    assert outcome.proof.fallbacks == {}


@pytest.mark.parametrize("plant", [*FALLBACKS.values(), *HONEST.values()], ids=[*FALLBACKS, *HONEST])
def test_on_the_host_itself_nobody_is_accused(cpu: Device, outcome_of: OutcomeOf, plant: Plant) -> None:
    outcome = outcome_of(cpu, doubling(plant))
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device)
    assert outcome.proof.fallbacks == {}


@pytest.mark.parametrize(
    "fetch",
    [
        lambda values: (values * 2).tolist(),
        lambda values: [number.item() for number in values * 2],
        lambda values: {"total": [float(number) for number in values * 2]},
    ],
)
def test_values_that_the_result_holds_are_fetched_for_it(
    xla: Device, outcome_of: OutcomeOf, fetch: Callable[[Any], Any]
) -> None:
    function = Function("fetched", given=fetch)
    function.behaviour("numbers", lambda inputs: (inputs.normal(6),), lambda observed, values: None)
    outcome = outcome_of(xla, function)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.proof


def test_a_minimiser_that_reads_its_loss_is_not_accused(xla: Device, outcome_of: OutcomeOf) -> None:
    def minimise(values: Any) -> Any:
        place = torch.zeros_like(values).requires_grad_()
        optimizer = torch.optim.LBFGS([place], lr=1, max_iter=20, line_search_fn="strong_wolfe")

        def loss() -> Any:
            optimizer.zero_grad()
            distance = ((place - 2 * values) ** 2).sum()
            distance.backward()
            return distance

        optimizer.step(loss)
        return place.detach()

    outcome = outcome_of(xla, doubling(minimise), TimingPolicy.steady)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.proof
