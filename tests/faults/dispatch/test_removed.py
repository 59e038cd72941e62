"""Runners are removed while their sessions are busy. The removal returns, and dispatch to other runners continues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from coordinator.database.pools import Pools, make_pools
from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.process.supervision import TaskSupervisor, end
from coordinator.registry import service
from coordinator.registry.models import RunnerRegistration
from tests.coordinator_process import CoordinatorProcess
from tests.database_roles import application
from tests.faults.dispatch.conftest import SECRET
from tests.faults.dispatch.test_killed import one_outcome_each
from tests.runner_process import RunnerProcess
from tests.waiting import until

ROUNDS = 3
ADJUSTS_WITHIN_S = 30.0


def test_a_busy_runner_is_removed_again_and_again(
    coordinator: CoordinatorProcess, start_runner: Callable[..., RunnerProcess]
) -> None:
    runner = start_runner()
    ready = f"http://127.0.0.1:{coordinator.port}/readyz"
    for round_ in range(ROUNDS):
        registration = coordinator.register(runner.ready["url"], SECRET)
        assert registration.status_code == 201, registration.text
        # Of no time at all, so that claims, posts and reports are on their way at any moment.
        campaign = coordinator.submit("hazards.add", runs=100)
        coordinator.wait_done(campaign, 10 + 30 * round_)
        assert coordinator.http.delete(f"/runners/{registration.json()['id']}").status_code == 204
        left = coordinator.campaign(campaign)["counters"]
        assert left["done"] < left["total"], "it was removed in the middle"
        assert coordinator.http.post(f"/campaigns/{campaign}/cancel").status_code == 200
    assert coordinator.register(runner.ready["url"], SECRET).status_code == 201
    one_outcome_each(coordinator, coordinator.submit("hazards.add", runs=1))
    until(lambda: httpx.get(ready).is_success, "all tasks run", ADJUSTS_WITHIN_S)


@pytest.fixture
async def pools(database: str) -> AsyncIterator[Pools]:
    pools = make_pools(application(database))
    yield pools
    await pools.dispose()


async def running(name: str) -> asyncio.Task[None]:
    """The task of this loop that runs the coroutine with this name, as soon as there is one."""
    loop = asyncio.get_running_loop()

    def find() -> asyncio.Task[None] | None:
        tasks = asyncio.all_tasks(loop)
        return next((task for task in tasks if getattr(task.get_coro(), "__qualname__", "") == name), None)

    running_task: asyncio.Task[None] = await asyncio.to_thread(until, find, f"{name} runs")
    return running_task


async def test_a_removal_that_meets_a_failure_ends_the_session(database: str, pools: Pools) -> None:
    """A task group that ends because one of its tasks failed loses a cancellation that arrives meanwhile."""
    runner = RunnerProcess(PORTOLAN_RUNNER_SECRET=SECRET)
    dispatching = asyncio.create_task(Dispatcher(pools, database, "tests", TaskSupervisor()).run())
    try:
        await service.register(pools.requests, RunnerRegistration(url=runner.ready["url"], secret=SECRET))
        session, reading = await running("Dispatcher._serve"), await running("RunnerSession._read_events")
        runner.process.kill()
        await asyncio.wait([reading])
        # Its neighbours are being cancelled, and have not ended.
        assert not await end(session)
    finally:
        await end(dispatching)
        runner.stop()


def test_others_are_served_while_one_is_removed(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    other = RunnerProcess(PORTOLAN_RUNNER_SECRET=SECRET)
    try:
        registration = coordinator.register(other.ready["url"], SECRET)
        assert registration.status_code == 201, registration.text
        campaign = coordinator.submit("hazards.nap", "hazards.add", runs=12)
        coordinator.wait_done(campaign, 10)
        assert coordinator.http.delete(f"/runners/{registration.json()['id']}").status_code == 204
        one_outcome_each(coordinator, campaign)
    finally:
        other.stop()
