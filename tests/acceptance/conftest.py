"""Fixtures: one coordinator and one runner for the tests of a module that break neither."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import RunnerProcess

SECRET = "a secret of the tests"


@pytest.fixture(scope="module")
def coordinator(new_database: Callable[..., str]) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(new_database())
    yield coordinator
    coordinator.stop()


@pytest.fixture(scope="module")
def runner(coordinator: CoordinatorProcess) -> Iterator[RunnerProcess]:
    """A registered runner of the hazards."""
    runner = RunnerProcess(PORTOLAN_RUNNER_SECRET=SECRET)
    answer = coordinator.register(runner.ready["url"], SECRET)
    assert answer.status_code == 201, answer.text
    yield runner
    runner.stop()
