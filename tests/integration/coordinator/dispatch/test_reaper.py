"""States that no event reports are found by polling: abandoned leases, and campaigns that were not closed."""

from __future__ import annotations

import asyncio
from typing import Any

from sqlalchemy import text

from coordinator.dispatch.reaper import Sweep, sweep
from coordinator.registry import ownership
from tests.integration.coordinator.dispatch.conftest import SeededDatabase

EXPIRE = "UPDATE jobs SET lease_until = now() - interval '1 second' WHERE lease_until IS NOT NULL"


async def do(place: SeededDatabase, statement: str) -> list[Any]:
    async with place.engine.begin() as connection:
        result = await connection.execute(text(statement))
        return list(result) if result.returns_rows else []


async def swept(place: SeededDatabase) -> Sweep:
    async with place.engine.begin() as connection:
        return await sweep(connection)


async def test_what_a_quarantined_runner_still_holds_goes_back_when_its_lease_has_run_out(
    place: SeededDatabase,
) -> None:
    await place.campaign()
    await place.claim(5)
    async with place.engine.begin() as connection:
        await ownership.quarantine(connection, place.runner_id, 60, 1, "it was silent")
    assert (await swept(place)).jobs == 0, "the lease still holds"
    await do(place, EXPIRE)
    assert (await swept(place)).jobs == 5
    assert {row.state for row in await do(place, "SELECT state FROM jobs")} == {"queued"}
    assert {row.lost for row in await do(place, "SELECT lost FROM jobs")} == {0}, "nobody knows that one had begun"
    assert {row.reason for row in await do(place, "SELECT reason FROM attempts")} == {
        "no coordinator serves the job's runner"
    }
    assert await swept(place) == Sweep(0, [])


async def test_a_claim_that_was_committed_as_its_runner_was_removed_goes_back(place: SeededDatabase) -> None:
    await place.campaign()
    await place.claim(3)
    await do(place, "UPDATE runners SET state = 'removed', owner = NULL")
    await do(place, EXPIRE)
    assert (await swept(place)).jobs == 3


async def test_a_served_runner_keeps_what_it_holds_whatever_the_lease_says(place: SeededDatabase) -> None:
    """The session with the runner knows the state of its jobs, even if all coordinators were stopped for long."""
    await place.campaign()
    await place.claim(5)
    await do(place, EXPIRE)
    assert (await swept(place)).jobs == 0


async def test_a_campaign_whose_targets_are_all_settled_is_closed(place: SeededDatabase) -> None:
    campaign = await place.campaign(cases=2)
    assert (await swept(place)).campaigns == []
    await do(place, "UPDATE campaign_targets SET done = total")
    assert (await swept(place)).campaigns == [campaign]
    (row,) = await do(place, "SELECT state, finished_at FROM campaigns")
    assert row.state == "done"
    assert row.finished_at is not None
    assert (await swept(place)).campaigns == []


async def test_a_renewal_waits_for_no_finish(place: SeededDatabase) -> None:
    """The outcome writer locks jobs and then the runner. A renewal locks the runner and then jobs."""
    await place.campaign()
    await place.claim(5)
    await do(place, EXPIRE)
    async with place.engine.connect() as finishing:
        await finishing.execute(text("SELECT id FROM jobs WHERE state = 'leased' ORDER BY id LIMIT 2 FOR UPDATE"))
        async with asyncio.timeout(60), place.engine.begin() as connection:
            assert await ownership.renew(connection, [place.runner_id], "me") == {place.runner_id}
        await finishing.rollback()
    assert await do(place, "SELECT count(*) AS n FROM jobs WHERE lease_until > now()") == [(3,)]


async def test_a_fresh_lease_is_not_written_again(place: SeededDatabase) -> None:
    await place.campaign()
    await place.claim(5)
    before = await do(place, "SELECT id, xmin::text FROM jobs ORDER BY id")
    async with place.engine.begin() as connection:
        await ownership.renew(connection, [place.runner_id], "me")
    assert await do(place, "SELECT id, xmin::text FROM jobs ORDER BY id") == before
