"""A coordinator, a runner of the hazards, and their database: all real, all to be broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.coordinator_process import CoordinatorProcess, free_port
from tests.runner_process import RunnerProcess

SECRET = "a secret of the tests"


@pytest.fixture
def coordinator(database: str) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(database)
    yield coordinator
    coordinator.stop()


@pytest.fixture
def start_runner() -> Iterator[Callable[..., RunnerProcess]]:
    """Starts a runner, always on the same port; what is left of it is stopped."""
    port = free_port()
    started: list[RunnerProcess] = []

    def start(*options: str) -> RunnerProcess:
        runner = RunnerProcess("--port", str(port), *options, PORTOLAN_RUNNER_SECRET=SECRET)
        started.append(runner)
        return runner

    yield start
    for runner in started:
        runner.stop()


@pytest.fixture
def runner(start_runner: Callable[..., RunnerProcess], coordinator: CoordinatorProcess) -> RunnerProcess:
    """A registered runner."""
    runner = start_runner()
    answer = coordinator.register(runner.ready["url"], SECRET)
    assert answer.status_code == 201, answer.text
    return runner
