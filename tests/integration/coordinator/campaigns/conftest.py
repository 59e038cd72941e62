"""Fixtures: a fleet for submitted campaigns."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns.request import CampaignRequest
from coordinator.registry import store as registry
from coordinator.registry import suites
from protocol.catalogue import CatalogueCase, CatalogueSuite
from tests.runner_info import runner_info

CASES = 10


def request(runs: int) -> CampaignRequest:
    return CampaignRequest(suite="paper", runs=runs)


@pytest.fixture
async def fleet(engine: AsyncEngine) -> AsyncEngine:
    """One live runner with a suite of ten cases."""
    cases = [CatalogueCase(id=f"torch.cat/{number}", function="torch.cat") for number in range(CASES)]
    async with engine.begin() as connection:
        suite_id = await suites.store_suite(
            connection, "torch", CatalogueSuite(name="paper", revision="r1", cases=cases)
        )
        runner_id = await registry.store_runner(connection, None, runner_info(), url="http://runner", secret="secret")
        await registry.store_offer(connection, runner_id, [suite_id])
        await connection.execute(text("UPDATE runners SET state = 'online'"))
    return engine
