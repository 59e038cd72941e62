"""The database's clock is set back, so that stored times are further in the future than Portolan ever sets them. They
delay nothing."""

from __future__ import annotations

import asyncio

import asyncpg
import httpx
import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import RunnerProcess
from tests.waiting import until


def execute(dsn: str, *statements: str) -> None:
    async def work() -> None:
        connection = await asyncpg.connect(dsn)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    asyncio.run(work())


@pytest.mark.parametrize(
    "ahead",
    [
        "owner_until = owner_until + interval '1 day'",
        "owner = NULL, state = 'quarantined', quarantined_until = now() + interval '1 day'",
    ],
    ids=["owned", "quarantined"],
)
def test_a_campaign_goes_on_at_once(
    coordinator: CoordinatorProcess, runner: RunnerProcess, database: str, ahead: str
) -> None:
    """A machine is restored to a clock of the day before while the coordinator was killed."""
    campaign = coordinator.submit("hazards.nap", runs=3)
    until(lambda: coordinator.campaign(campaign)["counters"]["done"], "the campaign has begun")
    coordinator.kill()
    leases = "UPDATE jobs SET lease_until = lease_until + interval '1 day' WHERE lease_until IS NOT NULL"
    execute(database, leases, f"UPDATE runners SET {ahead}")
    coordinator.start()
    counters = coordinator.wait_ended(campaign)["counters"]
    assert (counters["done"], counters["passed"]) == (3, 3)


def test_a_coordinator_is_not_ready_while_it_does_not_serve_a_runner(
    coordinator: CoordinatorProcess, runner: RunnerProcess, database: str
) -> None:
    """The reason does not matter. In this test, another session has locked the runner's row."""

    def reports_unserved_runner() -> bool:
        answer = httpx.get(f"{coordinator.url}/readyz")
        return answer.status_code == 503 and "session of runner" in answer.json()["detail"]

    async def hold() -> None:
        connection = await asyncpg.connect(database)
        async with connection.transaction():
            await connection.execute("UPDATE runners SET owner = NULL, owner_until = NULL")
            coordinator.start()
            await asyncio.to_thread(until, reports_unserved_runner, "it says that it has no session of the runner")
        await connection.close()

    coordinator.kill()
    asyncio.run(hold())
    until(lambda: httpx.get(f"{coordinator.url}/readyz").status_code == 200, "it is ready once the row is free")
