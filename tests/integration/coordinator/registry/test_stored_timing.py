"""The timing policy of a suite in the database: what a runner declared last, or the policy for the suite's name before
runners declared policies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import asyncpg
import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service
from coordinator.campaigns.request import CampaignRequest
from coordinator.configuration.bounds import Bounds
from coordinator.database.tables import runners, suites
from coordinator.registry import store as registry
from coordinator.registry.suites import store_suite
from protocol.catalogue import CatalogueCase, CatalogueSuite
from protocol.enums import TimedCases, TimingPolicy
from tests.integration.coordinator.database.test_migration import alembic
from tests.runner_info import runner_info

SILENT = CatalogueSuite(name="own", revision="1", cases=[CatalogueCase(id="f/one", function="f")])
VERDICTS_ONLY = SILENT.model_copy(update={"timing": TimingPolicy.off, "timed_cases": TimedCases.representative})
QUICK = SILENT.model_copy(update={"timing": TimingPolicy.quick})


@pytest.fixture
def before(new_database: Callable[..., str]) -> str:
    dsn = new_database(template="template1")
    assert alembic(dsn, "upgrade", "0005").returncode == 0
    return dsn


async def timing_after(engine: AsyncEngine, *registrations: CatalogueSuite) -> tuple[str | None, str | None]:
    async with engine.begin() as connection:
        for suite in registrations:
            suite_id = await store_suite(connection, "torch", suite)
        result = await connection.execute(select(suites.c.timing, suites.c.timed_cases).filter_by(id=suite_id))
        row = result.one()
    return row.timing, row.timed_cases


async def test_what_a_runner_said_last_is_kept_under_one_revision(engine: AsyncEngine) -> None:
    assert await timing_after(engine, SILENT) == (None, None)
    assert await timing_after(engine, VERDICTS_ONLY) == ("off", "representative")
    assert await timing_after(engine, QUICK) == ("quick", "representative")
    assert await timing_after(engine, SILENT) == ("quick", "representative")


async def test_a_campaign_without_a_timing_has_that_of_its_suite(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        suite_id = await store_suite(connection, "torch", VERDICTS_ONLY)
        runner_id = await registry.store_runner(connection, None, runner_info(), url="http://runner", secret="secret")
        await registry.store_offer(connection, runner_id, [suite_id])
        await connection.execute(runners.update().values(state="online"))
    by_suite, _ = await service.submit(engine, CampaignRequest(suite="own"), Bounds(), None)
    assert (by_suite.timing, by_suite.timed_cases) == (TimingPolicy.off, TimedCases.representative)
    by_request, _ = await service.submit(
        engine, CampaignRequest(suite="own", timing=TimingPolicy.steady), Bounds(), None
    )
    assert (by_request.timing, by_request.timed_cases) == (TimingPolicy.steady, TimedCases.representative)


async def test_the_migration_gives_stored_suites_the_timing_that_their_names_had(before: str) -> None:
    connection = await asyncpg.connect(before)
    names = ("docs", "library", "library_quick", "pairs", "paper", "own")
    for name in names:
        await connection.execute(
            "insert into suites (name, framework, revision, digest) values ($1, 'torch', '1', '')", name
        )
    answer = await asyncio.to_thread(alembic, before, "upgrade", "head")
    assert answer.returncode == 0, answer.stderr
    rows = await connection.fetch("select name, timing, timed_cases from suites order by id")
    verdicts_only = ("off", "representative")
    assert {row["name"]: (row["timing"], row["timed_cases"]) for row in rows} == {
        **dict.fromkeys(names[:4], verdicts_only),
        "paper": (None, None),
        "own": (None, None),
    }
    with pytest.raises(asyncpg.CheckViolationError, match="ck_suites_timing"):
        await connection.execute("update suites set timing = 'sometimes'")
    await connection.close()
