"""Fixtures: a small campaign in a real database."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.campaigns import store as campaigns
from coordinator.campaigns.plan import Plan, TargetPlan
from coordinator.campaigns.request import CampaignRequest
from coordinator.dispatch import queue
from coordinator.dispatch.queue import HeldJob
from coordinator.registry import ownership, suites
from coordinator.registry import store as registry
from coordinator.targets.selectors import TargetName
from protocol.catalogue import CatalogueCase, CatalogueSuite
from protocol.runner import RunnerInfo
from tests.runner_info import runner_info

TOKEN = "0123456789abcdef"
URL, SECRET = "http://runner", "secret"


@dataclass(frozen=True)
class SeededDatabase:
    """One runner, one suite, the coordinator's database engine, and an engine with all rights."""

    engine: AsyncEngine
    runner_id: int
    target_id: int
    suite_id: int
    case_ids: tuple[int, ...]
    owner: AsyncEngine

    async def campaign(self, *, runs: int = 1, cases: int | None = None, verdicts_first: bool = False) -> int:
        target = TargetName(self.target_id, "torch", "2.9.0", "cpu")
        case_ids = self.case_ids[:cases]
        plan = Plan((TargetPlan(target, self.suite_id, case_ids, frozenset({"torch.cat"})),), runs)
        request = CampaignRequest(verdicts_first=verdicts_first)
        async with self.engine.begin() as connection:
            return await campaigns.create(connection, request, plan)

    async def claim(self, limit: int = 64, token: str = TOKEN) -> list[HeldJob]:
        """Lease jobs to the runner."""
        async with self.engine.begin() as connection:
            return await queue.claim(
                connection,
                runner_id=self.runner_id,
                boot_id="boot-1",
                token=token,
                target_id=self.target_id,
                suites=[self.suite_id],
                limit=limit,
            )


async def add_runner(connection: AsyncConnection, info: RunnerInfo, suite_id: int, **address: str) -> int:
    runner_id = await registry.store_runner(connection, None, info, **address)
    await registry.store_offer(connection, runner_id, [suite_id])
    return runner_id


@pytest.fixture
async def place(engine: AsyncEngine, owner: AsyncEngine) -> SeededDatabase:
    cases = [CatalogueCase(id=f"torch.cat/{number}", function="torch.cat") for number in range(400)]
    async with engine.begin() as connection:
        suite_id = await suites.store_suite(
            connection, "torch", CatalogueSuite(name="paper", revision="r1", cases=cases)
        )
        runner_id = await add_runner(connection, runner_info(), suite_id, url=URL, secret=SECRET)
        ownership_row = await ownership.own(connection, runner_id, "me")
        plan = await campaigns.offers(
            connection, "paper", [TargetName(ownership_row.target_id if ownership_row else 0, "torch", "2.9.0", "cpu")]
        )
    assert ownership_row is not None
    return SeededDatabase(
        engine, runner_id, ownership_row.target_id, suite_id, tuple(case.id for case in plan[0].cases), owner
    )
