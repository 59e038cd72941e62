"""The schema: from nothing to what the code expects, however often and by however many at once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from coordinator.database.connection import engine
from coordinator.database.migration import current, head, upgrade
from coordinator.database.views import VIEWS
from coordinator.errors import DatabaseError
from coordinator.results.service import column_of

ROOT = Path(__file__).parents[3]
PAGES = """
SELECT c.relname, a.attname, a.attnum, pg_get_viewdef(c.oid) AS definition,
       obj_description(c.oid) AS comment, col_description(c.oid, a.attnum) AS column_comment
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
 WHERE c.relkind = 'v' AND c.relnamespace = 'public'::regnamespace
 ORDER BY c.relname, a.attnum
"""


@pytest.fixture
def empty(new_database: Callable[..., str]) -> str:
    return new_database(template="template1")


def alembic(dsn: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "alembic", *arguments],
        cwd=ROOT,
        env=os.environ | {"PORTOLAN_DATABASE_URL": dsn},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


async def test_upgrade_from_empty_and_again(empty: str) -> None:
    assert await current(empty) is None
    await upgrade(empty)
    assert await current(empty) == head()
    connection = await asyncpg.connect(empty)
    await connection.execute("insert into suites (name, framework, revision) values ('paper', 'torch', '1')")
    await upgrade(empty)
    assert await connection.fetchval("select count(*) from suites") == 1
    await connection.close()


async def test_coordinators_that_start_at_once_all_find_the_schema(empty: str) -> None:
    await asyncio.gather(*(upgrade(empty) for _ in range(3)))
    assert await current(empty) == head()


async def test_a_failed_upgrade_leaves_nothing(empty: str) -> None:
    connection = await asyncpg.connect(empty)
    await connection.execute("create table outcomes (mine integer)")
    with pytest.raises(DatabaseError, match="outcomes"):
        await upgrade(empty)
    tables = await connection.fetch("select relname from pg_class where relnamespace = 'public'::regnamespace")
    assert [each["relname"] for each in tables] == ["outcomes"]
    await connection.close()


async def test_a_newer_database_is_refused(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("update alembic_version set version_num = 'later'")
    await connection.close()
    with pytest.raises(DatabaseError, match="revision later, which this Portolan does not know"):
        await upgrade(database)


async def test_a_database_that_is_not_there(postgres: str) -> None:
    with pytest.raises(DatabaseError, match=r"127\.0\.0\.1:1/portolan cannot be used"):
        await upgrade("postgresql://portolan:x@127.0.0.1:1/portolan")
    with pytest.raises(DatabaseError, match="password authentication failed"):
        await upgrade(postgres.replace("portolan:", "portolan:not", 1))


_PASSED_SOMEWHERE = """
INSERT INTO suites (name, framework, revision) VALUES ('paper', 'torch', '1');
INSERT INTO targets (framework, version, device, device_class, hardware, environment)
VALUES ('torch', '2.9.0', 'npu', 'other', 'an NPU', 'e');
INSERT INTO cases (suite_id, name, function, position) VALUES (1, 'torch.cat/0', 'torch.cat', 0);
INSERT INTO campaigns (name, suite, selectors, functions, runs, timeout_s, timing)
VALUES ('first', 'paper', '[]', '[]', 1, 900, 'steady');
INSERT INTO campaign_targets (campaign_id, target_id, suite_id, total, done) VALUES (1, 1, 1, 1, 1);
INSERT INTO jobs (campaign_id, target_id, case_id, run, priority, state, attempt) VALUES (1, 1, 1, 1, 0, 'done', 1);
INSERT INTO outcomes (job_id, attempt, campaign_id, target_id, case_id, run, verdict, ending, placement, duration_s)
VALUES (1, 1, 1, 1, 1, 1, 'passed', 'returned', 'unknown', 0.1);
INSERT INTO matrices (campaign_id, done, renamed, took_s) VALUES (1, 1, 0, 0);
INSERT INTO matrix_rows (campaign_id, framework, function, module) VALUES (1, 'torch', 'torch.cat', 'torch');
INSERT INTO matrix_cells (campaign_id, framework, function, target_id, module, host_only, verdict, verdict_on_device,
                          passed, failed, total, skipped, incomplete, flaky, fell_back, passed_on_device)
VALUES (1, 'torch', 'torch.cat', 1, 'torch', false, 'success', 'success', 1, 0, 1, 0, 0, 0, 0, 1);
"""


async def test_what_was_stored_before_is_read_by_the_rule_of_placements(empty: str) -> None:
    assert alembic(empty, "upgrade", "0007").returncode == 0
    connection = await asyncpg.connect(empty)
    await connection.execute(_PASSED_SOMEWHERE)
    assert await connection.fetchval("select verdict_on_device from function_verdicts") == "success"
    await upgrade(empty)
    row = await connection.fetchrow("select * from function_verdicts")
    assert row is not None
    assert (row["verdict"], row["verdict_on_device"], row["unknown_placement"]) == ("success", "unknown", 1)
    assert await connection.fetchval("select verdict_on_device from outcome_rows") == "unknown"
    await connection.close()
    pool = engine(empty)
    (cell,) = await column_of(pool, 1, 1)
    await pool.dispose()
    assert (cell.verdict_on_device, cell.passed_on_device, cell.unknown_placement) == ("unknown", 0, 1)


def test_the_tables_are_those_of_the_code(empty: str) -> None:
    assert alembic(empty, "check").returncode != 0  # nothing there yet: the check does look
    done = alembic(empty, "upgrade", "head")
    assert done.returncode == 0, done.stderr
    done = alembic(empty, "check")
    assert done.returncode == 0, done.stdout + done.stderr


async def test_the_views_are_those_of_the_code(database: str) -> None:
    connection = await asyncpg.connect(database)
    migrated = await connection.fetch(PAGES)
    for view in reversed(VIEWS):
        await connection.execute(f"drop view {view.name}")
    for view in VIEWS:
        for statement in view.statements():
            await connection.execute(statement)
    assert {each["relname"] for each in migrated} == {view.name for view in VIEWS}
    assert migrated == await connection.fetch(PAGES)
    await connection.close()
