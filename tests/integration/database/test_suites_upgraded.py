"""Suites that runners and bundles shared are told apart by the upgrade, and every figure stays what it was."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest
from alembic import command
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.database.connection import engine as make_engine
from coordinator.database.migration import configuration, upgrade
from coordinator.errors import SuiteChangedError
from coordinator.registry.revisions import content_of, digest
from coordinator.registry.suites import store_suite
from protocol.catalogue import CatalogueCase, CatalogueSuite

FILLED_AT = "0007"
BEFORE, AFTER = "0009-1", "0009"
VIEWS = ("outcome_rows", "function_verdicts", "function_latencies")

SERVED, BROUGHT, FUNCTION = "served", "brought", "torch.cat"

FILL = f"""
INSERT INTO targets (framework, version, device, device_class, hardware, environment)
VALUES ('torch', '2', 'cpu', 'cpu', 'h', 'e');
INSERT INTO fingerprints (id, body) VALUES ('f', '{{}}');
INSERT INTO suites (name, framework, revision)
VALUES ('paper', 'torch', '{SERVED}'), ('paper', 'torch', '{BROUGHT}');
INSERT INTO cases (suite_id, name, function, host_only, tags, position)
SELECT s.id, '{FUNCTION}/' || n, '{FUNCTION}', NULL, '["a"]', n
  FROM suites s, generate_series(0, 4) n WHERE s.revision = '{SERVED}' OR n < 3;
-- This one came in a bundle, and never ran anywhere else.
INSERT INTO cases (suite_id, name, function, host_only, position)
SELECT id, 'torch.extra/0', 'torch.extra', 'no array', 0 FROM suites WHERE revision = '{SERVED}';
INSERT INTO runners (url, secret, target_id, fingerprint_id, device_count, slots, queue_limit, state, boot_id)
VALUES ('http://runner', 's', 1, 'f', 1, 1, 64, 'online', 'b');
INSERT INTO runner_suites (runner_id, suite_id) SELECT 1, id FROM suites WHERE revision = '{SERVED}';
INSERT INTO campaigns (name, suite, selectors, functions, runs, timeout_s, timing, state, imported_at, bundle_sha256)
VALUES ('dispatched', 'paper', '[]', '[]', 2, 900, 'off', 'done', NULL, NULL),
       ('imported', 'paper', '[]', '[]', 2, 900, 'off', 'done', now(), 'one'),
       ('imported alone', 'paper', '[]', '[]', 2, 900, 'off', 'done', now(), 'two'),
       ('imported again', 'paper', '[]', '[]', 2, 900, 'off', 'done', now(), 'three');
INSERT INTO campaign_targets (campaign_id, target_id, suite_id, total)
SELECT p.id, 1, s.id, 0 FROM campaigns p
  JOIN suites s ON (s.revision = '{BROUGHT}') = (p.name = 'imported alone');
INSERT INTO jobs (campaign_id, target_id, case_id, run, priority, state, attempt)
SELECT ct.campaign_id, 1, c.id, run, 1, 'done', 1
  FROM campaign_targets ct JOIN campaigns p ON p.id = ct.campaign_id
  JOIN cases c ON c.suite_id = ct.suite_id CROSS JOIN generate_series(1, 2) run
 WHERE CASE p.name WHEN 'dispatched' THEN c.name <> 'torch.extra/0' WHEN 'imported' THEN c.position < 3
                   WHEN 'imported again' THEN c.position IN (2, 3) ELSE true END;
INSERT INTO outcomes (job_id, attempt, campaign_id, target_id, case_id, run, fingerprint_id, verdict, ending, placement,
                      cold_ms, steady_ms, duration_s)
SELECT id, 1, campaign_id, 1, case_id, run, 'f', CASE WHEN id % 3 = 0 THEN 'failed' ELSE 'passed' END, 'returned',
       'on_device', id, id, 1 FROM jobs;
"""


def whole() -> CatalogueSuite:
    """What the runner has served all the time."""
    cases = [CatalogueCase(id=f"{FUNCTION}/{number}", function=FUNCTION, tags=["a"]) for number in range(5)]
    return CatalogueSuite(name="paper", revision=SERVED, cases=cases)


async def figures(connection: asyncpg.Connection[Any]) -> dict[str, list[dict[str, Any]]]:
    """All that the views say, but for the internal numbers of cases."""
    return {
        view: sorted(
            (
                {key: value for key, value in row.items() if key != "case_id"}
                for row in await connection.fetch(f"select * from {view}")
            ),
            key=repr,
        )
        for view in VIEWS
    }


async def bring_to(engine: AsyncEngine, revision: str) -> None:
    """Bring the database up to this revision and no further."""
    async with engine.begin() as connection:
        await connection.run_sync(lambda given: command.upgrade(configuration(given), revision))


@pytest.fixture
def old(new_database: Callable[..., str]) -> str:
    return new_database(template="template1")


@pytest.fixture
async def upgraded(old: str) -> AsyncIterator[tuple[asyncpg.Connection[Any], AsyncEngine]]:
    """A database from before, filled, with its figures compared over the upgrade."""
    engine = make_engine(old)
    await bring_to(engine, FILLED_AT)
    connection = await asyncpg.connect(old)
    await connection.execute(FILL)
    await bring_to(engine, BEFORE)
    await connection.reload_schema_state()
    before = await figures(connection)
    assert [len(before[view]) for view in VIEWS] == [10 + 8 + 6 + 4, 5, 5]
    await bring_to(engine, AFTER)
    await connection.reload_schema_state()
    assert await figures(connection) == before
    await upgrade(old)
    await connection.reload_schema_state()
    yield connection, engine
    await engine.dispose()
    await connection.close()


async def names(connection: asyncpg.Connection[Any], revision: str, origin: str) -> list[str]:
    rows = await connection.fetch(
        "select c.name from cases c join suites s on s.id = c.suite_id"
        " where s.revision = $1 and s.origin = $2 order by c.position, c.name",
        *(revision, origin),
    )
    return [row["name"] for row in rows]


async def test_what_bundles_brought_is_their_own(upgraded: tuple[asyncpg.Connection[Any], AsyncEngine]) -> None:
    connection, _ = upgraded
    part = [f"{FUNCTION}/{number}" for number in range(4)]
    assert await names(connection, SERVED, "bundle") == [part[0], "torch.extra/0", *part[1:]]
    assert await names(connection, BROUGHT, "bundle") == part[:3]
    assert await names(connection, BROUGHT, "runner") == []
    strays = (
        "select count(*) from {} r join cases c on c.id = r.case_id join campaign_targets ct"
        " on ct.campaign_id = r.campaign_id and ct.target_id = r.target_id where c.suite_id <> ct.suite_id"
    )
    for table in ("jobs", "outcomes"):
        assert await connection.fetchval(strays.format(table)) == 0
    dispatched = "select s.origin from campaign_targets ct join suites s on s.id = ct.suite_id where campaign_id = 1"
    assert await connection.fetchval(dispatched) == "runner"


async def test_the_runner_registers_as_before_and_what_a_bundle_added_is_no_more_its_own(
    upgraded: tuple[asyncpg.Connection[Any], AsyncEngine],
) -> None:
    connection, engine = upgraded
    before = await figures(connection)
    served = await connection.fetchval("select suite_id from runner_suites")
    for _ in range(2):
        async with engine.begin() as transaction:
            assert await store_suite(transaction, "torch", whole()) == served
        assert await names(connection, SERVED, "runner") == [case.id for case in whole().cases]
    assert await connection.fetchval("select digest from suites where id = $1", served) == digest(content_of(whole()))
    assert await figures(connection) == before


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        (whole().cases[:4], f"2 cases removed (torch.extra/0, {FUNCTION}/4)"),
        (
            [whole().cases[0].model_copy(update={"function": "torch.dot"}), *whole().cases[1:]],
            f"1 case changed ({FUNCTION}/0: function {FUNCTION} → torch.dot), 1 case removed (torch.extra/0)",
        ),
    ],
)
async def test_what_ran_is_not_rewritten_by_the_first_registration_either(
    upgraded: tuple[asyncpg.Connection[Any], AsyncEngine], cases: list[CatalogueCase], words: str
) -> None:
    connection, engine = upgraded
    before = await figures(connection), await names(connection, SERVED, "runner")
    with pytest.raises(SuiteChangedError) as refused:
        async with engine.begin() as transaction:
            await store_suite(transaction, "torch", CatalogueSuite(name="paper", revision=SERVED, cases=cases))
    assert words in str(refused.value)
    assert (await figures(connection), await names(connection, SERVED, "runner")) == before
    async with engine.begin() as transaction:
        await store_suite(transaction, "torch", whole())


async def test_a_runner_of_what_only_bundles_brought_stores_it_whole(
    upgraded: tuple[asyncpg.Connection[Any], AsyncEngine],
) -> None:
    connection, engine = upgraded
    before = await figures(connection)
    async with engine.begin() as transaction:
        await store_suite(transaction, "torch", whole().model_copy(update={"revision": BROUGHT}))
    assert await names(connection, BROUGHT, "runner") == [case.id for case in whole().cases]
    assert len(await names(connection, BROUGHT, "bundle")) == 3
    assert await figures(connection) == before
