"""Tests of work on the host that hold for every framework, with one common list of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from protocol.enums import Placement, Verdict
from protocol.outcomes import Outcome
from runners.suite.device import Device
from tests.frameworks.common.host_work import HONEST, PLANTS, Trial
from tests.frameworks.common.running import run
from tests.frameworks.common.subject import Subject

Tried = Callable[[Trial], Outcome]
"""A function that returns the outcome of a call on the framework's device."""


@pytest.fixture(scope="session")
def try_out(xla: Device, subject: Subject) -> Tried:
    """Runs a call on the framework's XLA device. A framework without this device has its own fixture."""
    assert subject.operations is not None
    operations = subject.operations(xla)
    return lambda trial: run(xla, trial.case(operations, subject.doubling), trial.timing)


def each_of(trials: tuple[Trial, ...]) -> Any:
    return pytest.mark.parametrize("trial", trials, ids=[trial.name for trial in trials])


@each_of(PLANTS)
def test_a_shared_plant_is_seen(try_out: Tried, trial: Trial) -> None:
    outcome = try_out(trial)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back), (
        outcome.proof,
        outcome.evidence,
    )


@each_of(HONEST)
def test_a_shared_honest_call_is_not_accused(try_out: Tried, trial: Trial) -> None:
    outcome = try_out(trial)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device), (
        outcome.proof,
        outcome.evidence,
    )
    assert outcome.proof.fallbacks == {}
    assert outcome.proof.executed
