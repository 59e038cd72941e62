"""A submission with a key creates one campaign, even if it is sent several times."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service
from coordinator.campaigns.request import CampaignRequest
from coordinator.configuration.bounds import Bounds
from coordinator.errors import RequestError, UnknownNameError
from tests.integration.coordinator.campaigns.conftest import request

BOUNDS = Bounds()


async def submit(fleet: AsyncEngine, wish: CampaignRequest, user: str | None, key: str | None) -> tuple[int, bool]:
    campaign, is_new = await service.submit(fleet, wish, BOUNDS, user, key)
    return campaign.id, is_new


@pytest.mark.parametrize("user", ["ann", None])
async def test_the_same_submission_makes_one_campaign(fleet: AsyncEngine, user: str | None) -> None:
    assert await submit(fleet, request(1), user, "k1") == (1, True)
    assert await submit(fleet, request(1), user, "k1") == (1, False)
    assert await submit(fleet, request(1), user, "k2") == (2, True)
    assert await submit(fleet, request(1), "bob", "k1") == (3, True), "another's key is another"
    assert await submit(fleet, request(1), user, None) == (4, True)
    assert await submit(fleet, request(1), user, None) == (5, True)


async def test_a_submission_says_why_the_runners_that_it_needs_are_away(fleet: AsyncEngine) -> None:
    async with fleet.begin() as connection:
        await connection.execute(text("UPDATE runners SET state = 'offline', reason = 'it refuses its secret'"))
    with pytest.raises(UnknownNameError, match=r"torch@2\.9\.0/cpu: http://runner is offline: it refuses its secret"):
        await submit(fleet, request(1), "ann", None)


async def test_a_key_stands_for_one_request(fleet: AsyncEngine) -> None:
    await submit(fleet, request(1), "ann", "k1")
    with pytest.raises(RequestError, match=r"used for a different request \(campaign 1\)"):
        await submit(fleet, request(2), "ann", "k1")


async def test_the_same_submission_at_the_same_time_makes_one_campaign(fleet: AsyncEngine) -> None:
    submissions = await asyncio.gather(*(submit(fleet, request(1), "ann", "k1") for _ in range(8)))
    assert len({campaign for campaign, _ in submissions}) == 1
    assert sorted(is_new for _, is_new in submissions) == [False] * 7 + [True]
