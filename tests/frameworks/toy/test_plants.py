"""Work on the host is detected on a device of an installed package, by the watch that all torch devices share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol.enums import Placement, TimingPolicy, Verdict
from protocol.outcomes import Outcome
from runners.suite.device import Device
from tests.frameworks.torch.plants import FACTORIES, FALLBACKS, HONEST, Plant, doubling

OutcomeOf = Callable[..., Outcome]


@pytest.mark.parametrize("plant", FALLBACKS.values(), ids=FALLBACKS)
def test_work_on_the_host_is_seen(toy: Device, outcome_of: OutcomeOf, plant: Plant) -> None:
    outcome = outcome_of(toy, doubling(plant))
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back), outcome.evidence


@pytest.mark.parametrize("factory", FACTORIES.values(), ids=FACTORIES)
def test_work_on_the_host_in_some_calls_only_is_seen(
    toy: Device, outcome_of: OutcomeOf, factory: Callable[[], Plant]
) -> None:
    outcome = outcome_of(toy, doubling(factory()), TimingPolicy.steady)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back), outcome.evidence


@pytest.mark.parametrize("plant", HONEST.values(), ids=HONEST)
def test_work_on_the_device_is_not_accused(toy: Device, outcome_of: OutcomeOf, plant: Plant) -> None:
    outcome = outcome_of(toy, doubling(plant), TimingPolicy.steady)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), outcome.proof
