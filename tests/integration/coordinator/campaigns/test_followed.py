"""A follower of one campaign receives only this campaign's events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service
from coordinator.campaigns.follower import Follower
from coordinator.configuration.bounds import Bounds
from coordinator.deletion.service import delete_campaign
from tests.integration.coordinator.campaigns.conftest import request


async def next_event(events: AsyncIterator[bytes]) -> tuple[str, dict[str, object]]:
    """The next event that is no heartbeat: its type and its content."""
    async with asyncio.timeout(60):
        while True:
            lines = (await anext(events)).decode().splitlines()
            if lines[0].startswith("event: "):
                return lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))


async def test_a_campaign_that_is_deleted_ends_its_own_stream_and_no_other(fleet: AsyncEngine) -> None:
    deleted_id, kept_id = [(await service.submit(fleet, request(1), Bounds(), "ann"))[0].id for _ in range(2)]
    follower = Follower(fleet, most=10, each=10)
    try:
        async with follower.watch(deleted_id, "ann") as ending, follower.watch(kept_id, "ann") as going_on:
            assert (await next_event(ending))[0] == (await next_event(going_on))[0] == "progress"
            async with fleet.begin() as connection:
                # As of a campaign that was cancelled, in the moment in which it is deleted.
                await connection.execute(
                    text("UPDATE campaigns SET state = 'cancelled' WHERE id = :id"), {"id": deleted_id}
                )
            await delete_campaign(fleet, deleted_id)
            async with fleet.begin() as connection:
                await connection.execute(
                    text("UPDATE campaign_targets SET done = 1, passed = 1 WHERE campaign_id = :id"), {"id": kept_id}
                )
            kind, content = await next_event(going_on)
            assert (kind, content["id"]) == ("progress", kept_id)
            assert (await next_event(ending))[0] in ("away", "progress"), (
                "its last: the deletion, or its end before that"
            )
    finally:
        await follower.close()
