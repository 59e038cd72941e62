"""A coordinator with short times, a runner of the hazards, and their database. All are real, so that tests can break
them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from coordinator.configuration.times import Times
from coordinator.dispatch.instructions import SERVES_ANOTHER
from tests.coordinator_process import CoordinatorProcess, free_port
from tests.event_loop import EventLoop
from tests.runner_process import RunnerProcess
from tests.scripted_runner import Case, Script, ScriptedRunner
from tests.short_times import HEARTBEAT, HEARTBEAT_S, SHORT_TIMES

SECRET = "a secret of the tests"
SUITE = "scripted"


@contextlib.contextmanager
def scripted_runner(script: Script | None = None, *, cases: int = 8, device: str = "none") -> Iterator[ScriptedRunner]:
    """A runner in its own thread, with cases ``scripted.f0/0`` and so on that pass immediately."""
    events = EventLoop()
    suite = [Case(f"{SUITE}.f{number}/0", f"{SUITE}.f{number}") for number in range(cases)]
    runner = ScriptedRunner(
        "scripted", SUITE, suite, run=events.run, script=script, device=device, heartbeat_s=HEARTBEAT_S
    )
    runner.start()
    try:
        yield runner
    finally:
        runner.script.silent = False
        runner.stop()
        events.close()


def waits_for_another(installation: CoordinatorProcess, campaign: int) -> bool:
    """Whether the campaign reports that its runner also serves another coordinator."""
    (target,) = installation.campaign(campaign)["by_target"]
    return any(SERVES_ANOTHER in sentence for sentence in target["held_up_by"])


@pytest.fixture
def times() -> Times:
    """The coordinator's times. A test of silences sets others by a parameter."""
    return SHORT_TIMES


@pytest.fixture
def coordinator(database: str, times: Times) -> Iterator[CoordinatorProcess]:
    coordinator = CoordinatorProcess(database, times=times)
    yield coordinator
    coordinator.stop()


@pytest.fixture
def start_runner() -> Iterator[Callable[..., RunnerProcess]]:
    """Starts a runner, always on the same port. Remaining processes are stopped at the end."""
    port = free_port()
    runners: list[RunnerProcess] = []

    def start(*options: str) -> RunnerProcess:
        runner = RunnerProcess("--port", str(port), *options, PORTOLAN_RUNNER_SECRET=SECRET, **HEARTBEAT)
        runners.append(runner)
        return runner

    yield start
    for runner in runners:
        runner.stop()


@pytest.fixture
def runner(start_runner: Callable[..., RunnerProcess], coordinator: CoordinatorProcess) -> RunnerProcess:
    """A registered runner."""
    runner = start_runner()
    answer = coordinator.register(runner.ready["url"], SECRET)
    assert answer.status_code == 201, answer.text
    return runner
