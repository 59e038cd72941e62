"""A fleet to submit campaigns to."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns.request import CampaignRequest
from coordinator.registry import store as registry
from coordinator.registry import suites
from protocol import PROTOCOL_VERSION
from protocol.catalogue import CatalogueCase, CatalogueSuite
from protocol.enums import DeviceClass
from protocol.runner import Fingerprint, RunnerInfo

CASES = 10


def request(runs: int) -> CampaignRequest:
    return CampaignRequest(suite="paper", runs=runs)


@pytest.fixture
async def fleet(engine: AsyncEngine) -> AsyncEngine:
    """One live runner of a suite of ten cases."""
    cases = [CatalogueCase(id=f"torch.cat/{number}", function="torch.cat") for number in range(CASES)]
    info = RunnerInfo(
        boot_id="boot-1",
        protocol=PROTOCOL_VERSION,
        framework="torch",
        version="2.9.0",
        device="cpu",
        device_class=DeviceClass.cpu,
        device_count=1,
        queue_limit=256,
        fingerprint=Fingerprint(hardware="a CPU", environment="abc", host="here", system="Linux", python="3.11"),
    )
    async with engine.begin() as connection:
        suite_id = await suites.store_suite(
            connection, "torch", CatalogueSuite(name="paper", revision="r1", cases=cases)
        )
        runner_id = await registry.store_runner(connection, None, info, url="http://runner", secret="secret")
        await registry.store_offer(connection, runner_id, [suite_id])
        await connection.execute(text("UPDATE runners SET state = 'online'"))
    return engine
