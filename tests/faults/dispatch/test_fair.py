"""Runners of one target share the work, however long each has waited for it."""

from __future__ import annotations

from contextlib import ExitStack

from tests.coordinator_process import CoordinatorProcess
from tests.faults.dispatch.conftest import SUITE, scripted_runner
from tests.scripted_runner import Script
from tests.waiting import until

RUNNERS, CASES = 4, 100


def test_idle_runners_get_alike(coordinator: CoordinatorProcess) -> None:
    with ExitStack() as stack:
        runners = [stack.enter_context(scripted_runner(Script(), cases=CASES)) for _ in range(RUNNERS)]
        for scripted in runners:
            assert coordinator.register(scripted.url, scripted.secret).status_code == 201
        # Each time all ask for work at once, and but one find none.
        for _ in range(10):
            coordinator.wait_ended(coordinator.submit(f"{SUITE}.f0", suite=SUITE, runs=1))
        for scripted in runners:
            scripted.posted.clear()
            scripted.script.starts = False
        campaign = coordinator.submit("*", suite=SUITE, runs=1)
        until(lambda: all(scripted.posted for scripted in runners), "all have work")
        for scripted in runners:
            scripted.script.starts = True
        coordinator.wait_ended(campaign)
        given = [len(scripted.posted) for scripted in runners]
    assert sum(given) == CASES
    assert max(given) <= 2 * CASES / RUNNERS
