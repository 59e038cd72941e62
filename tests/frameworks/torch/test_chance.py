"""Random cases: a right generator passes, and a slightly wrong generator fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import torch

from protocol.enums import Verdict
from protocol.outcomes import Outcome
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from runners.torch.suites.paper import chance

OutcomeOf = Callable[..., Outcome]
DRAWS = 8192


def case(identifier: str) -> Case:
    cases = {entry.id: entry for entry in FRAMEWORK.load_suites()["paper"].cases}
    return cases[identifier]


class Instead:
    """A device on which the function under test is replaced by another function."""

    def __init__(self, device: Device, function: Any) -> None:
        self._device = device
        self._function = function

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def lookup(self, name: str) -> Any:
        return self._function


def test_a_uniform_sample_is_taken_for_one() -> None:
    draws = np.random.default_rng(1).random(DRAWS)
    chance.assert_distribution(draws, lambda values: values, "draws")
    chance.assert_mean(draws, 0.5, np.sqrt(1 / 12), "draws")
    chance.assert_uncorrelated(draws[:-1], draws[1:], "neighbours")


def test_a_sample_that_is_not_quite_uniform_is_noticed() -> None:
    draws = np.random.default_rng(1).random(DRAWS)
    with pytest.raises(AssertionError, match="away from the distribution"):
        chance.assert_distribution(draws**1.2, lambda values: values, "draws")
    with pytest.raises(AssertionError, match="the mean"):
        chance.assert_mean(draws**1.2, 0.5, np.sqrt(1 / 12), "draws")


def test_draws_that_follow_each_other_are_noticed() -> None:
    draws = np.random.default_rng(1).random(DRAWS)
    sums = draws[1:] + 0.1 * draws[:-1]
    with pytest.raises(AssertionError, match="correlation"):
        chance.assert_uncorrelated(sums[:-1], sums[1:], "neighbours")


def test_a_share_that_is_off_is_noticed() -> None:
    chance.assert_share(4100, DRAWS, 0.5, "heads")
    with pytest.raises(AssertionError, match="heads"):
        chance.assert_share(4400, DRAWS, 0.5, "heads")


def too_often(values: torch.Tensor, p: float = 0.5, **options: Any) -> torch.Tensor:
    return torch.nn.functional.dropout(values, p + 0.03, **options) * (1 - p - 0.03) / (1 - p)


def not_scaled(values: torch.Tensor, p: float = 0.5, **options: Any) -> torch.Tensor:
    return torch.nn.functional.dropout(values, p, **options) * (1 - p)


def same_row(values: torch.Tensor, p: float = 0.5, **options: Any) -> torch.Tensor:
    mask = torch.nn.functional.dropout(torch.ones_like(values[:1]), p)
    return values * mask


@pytest.mark.parametrize("wrong", [too_often, not_scaled, same_row])
def test_wrong_dropout_is_noticed(cpu: Device, outcome_of: OutcomeOf, wrong: Any) -> None:
    outcome = outcome_of(cast(Device, Instead(cpu, wrong)), case("torch.nn.functional.dropout/half"))
    assert outcome.verdict is Verdict.failed


class ByElement(torch.nn.Dropout3d):
    """Drops single elements where whole channels must be dropped."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(values, self.p, self.training)


def test_dropout_of_elements_is_no_dropout_of_channels(cpu: Device, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(cast(Device, Instead(cpu, ByElement)), case("torch.nn.Dropout3d/volumes"))
    assert outcome.verdict is Verdict.failed


def normal_instead(weights: torch.Tensor, gain: float = 1.0) -> torch.Tensor:
    return torch.nn.init.xavier_normal_(weights, gain)


def narrow(weights: torch.Tensor, gain: float = 1.0) -> torch.Tensor:
    return torch.nn.init.xavier_uniform_(weights, 0.9 * gain)


@pytest.mark.parametrize("wrong", [normal_instead, narrow])
def test_wrong_initial_weights_are_noticed(cpu: Device, outcome_of: OutcomeOf, wrong: Any) -> None:
    outcome = outcome_of(cast(Device, Instead(cpu, wrong)), case("torch.nn.init.xavier_uniform_/matrix"))
    assert outcome.verdict is Verdict.failed


class Warmer(torch.distributions.RelaxedOneHotCategorical):
    """Samples at a temperature that is 10 % too high."""

    def __init__(self, temperature: torch.Tensor, *arguments: Any, **options: Any) -> None:
        super().__init__(1.1 * temperature, *arguments, **options)


class Flatter(torch.distributions.RelaxedOneHotCategorical):
    """Prefers likely classes less than it should."""

    def __init__(self, temperature: torch.Tensor, *, logits: torch.Tensor) -> None:
        super().__init__(temperature, logits=0.8 * logits)


@pytest.mark.parametrize("wrong", [Warmer, Flatter])
def test_wrong_relaxed_samples_are_noticed(cpu: Device, outcome_of: OutcomeOf, wrong: Any) -> None:
    name = "torch.distributions.RelaxedOneHotCategorical/samples"
    outcome = outcome_of(cast(Device, Instead(cpu, wrong)), case(name))
    assert outcome.verdict is Verdict.failed
