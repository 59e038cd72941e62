"""Runners of one target share the jobs evenly, even if they have waited for different times."""

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
        ids = set()
        for stub in runners:
            answer = coordinator.register(stub.url, stub.secret)
            assert answer.status_code == 201
            ids.add(answer.json()["id"])
        # The work is shared among those that are there: a runner is once its session is.
        until(lambda: ids <= online(coordinator), "all runners are online")
        # Each time all ask for work at once, and but one find none.
        for _ in range(10):
            coordinator.wait_ended(coordinator.submit(f"{SUITE}.f0", suite=SUITE, runs=1))
        for stub in runners:
            stub.posted.clear()
            stub.script.starts = False
        until(lambda: ids <= online(coordinator), "all runners are still online")
        campaign = coordinator.submit("*", suite=SUITE, runs=1)
        until(lambda: all(scripted.posted for scripted in runners), "all have work")
        for stub in runners:
            stub.script.starts = True
        coordinator.wait_ended(campaign)
        jobs_per_runner = [len(stub.posted) for stub in runners]
    assert sum(jobs_per_runner) == CASES
    assert max(jobs_per_runner) <= 2 * CASES / RUNNERS


def online(coordinator: CoordinatorProcess) -> set[int]:
    """The ids of the runners that are online."""
    runners = coordinator.http.get("/runners").json()["runners"]
    return {runner["id"] for runner in runners if runner["state"] == "online"}
