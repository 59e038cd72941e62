"""The limits on the jobs of a campaign and of a submitter, counted in the database."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.access.caller import Caller
from coordinator.access.roles import Role
from coordinator.campaigns import service
from coordinator.configuration.bounds import Bounds
from coordinator.errors import RequestError, TooManyError
from tests.integration.coordinator.campaigns.conftest import CASES, request

ADMIN = Caller("admin", Role.admin, "token")


async def test_jobs_of_one_campaign(fleet: AsyncEngine) -> None:
    bounds = Bounds(campaign_jobs=CASES * 3)
    assert (await service.dry_run(fleet, request(3), bounds)).jobs == CASES * 3
    for call in (service.dry_run(fleet, request(4), bounds), service.submit(fleet, request(4), bounds, None)):
        with pytest.raises(RequestError, match="40 jobs, but the limit is 30") as refusal:
            await call
        assert refusal.value.status == 422
    campaign, _ = await service.submit(fleet, request(3), bounds, None)
    assert campaign.counters.total == CASES * 3


@pytest.mark.parametrize("user", ["ann", None])
async def test_jobs_of_one_submitter(fleet: AsyncEngine, user: str | None) -> None:
    """Neither another submitter's jobs nor finished jobs count."""
    bounds = Bounds(user_jobs=CASES * 3)
    await service.submit(fleet, request(3), bounds, "bob")
    first, _ = await service.submit(fleet, request(2), bounds, user)
    with pytest.raises(TooManyError, match=r"20 jobs without an outcome, and with these 20 .* more than 30"):
        await service.submit(fleet, request(2), bounds, user)
    await service.cancel(fleet, first.id, ADMIN)
    await service.submit(fleet, request(3), bounds, user)


async def test_submissions_at_the_same_time_are_counted_one_after_the_other(fleet: AsyncEngine) -> None:
    bounds = Bounds(user_jobs=CASES * 3)
    results = await asyncio.gather(
        *(service.submit(fleet, request(1), bounds, "ann") for _ in range(8)), return_exceptions=True
    )
    assert sum(isinstance(result, TooManyError) for result in results) == 5
    async with fleet.connect() as connection:
        total = await connection.execute(text("SELECT sum(total)::int FROM campaign_targets"))
        assert total.scalar_one() == CASES * 3
