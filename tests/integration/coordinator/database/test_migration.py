"""Migrations create the schema that the code expects, even if they run several times, or in several processes at the
same time."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from coordinator.database.views import OUTCOME_ROWS, VIEWS
from coordinator.errors import DatabaseError
from coordinator.migration import current, head, require_upgraded, upgrade

ROOT = Path(__file__).parents[4]
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
    await connection.execute(
        "insert into suites (name, framework, revision, digest) values ('paper', 'torch', '1', '')"
    )
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
    assert [table["relname"] for table in tables] == ["outcomes"]
    await connection.close()


async def test_a_newer_database_is_refused(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("update alembic_version set version_num = 'later'")
    await connection.close()
    with pytest.raises(DatabaseError, match="this Portolan does not know the revision later of the database"):
        await upgrade(database)


@pytest.mark.parametrize("comment", ["NULL", "'of another first migration'"])
async def test_a_database_made_by_a_first_migration_that_was_amended_since_is_refused_and_left_as_it_is(
    database: str, comment: str
) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute(
        f"comment on table alembic_version is {comment}; alter table outcomes drop column contended cascade"
    )
    before = await connection.fetch(PAGES)
    for start in (upgrade, require_upgraded):
        with pytest.raises(DatabaseError, match=r"do not match revision \w+, because.*Nothing was changed"):
            await start(database)
    assert await connection.fetch(PAGES) == before
    await connection.close()


async def test_a_database_that_is_not_there(postgres: str) -> None:
    with pytest.raises(DatabaseError, match=r"127\.0\.0\.1:1/portolan cannot be used"):
        await upgrade("postgresql://portolan:x@127.0.0.1:1/portolan")
    with pytest.raises(DatabaseError, match="password authentication failed"):
        await upgrade(postgres.replace("portolan:", "portolan:not", 1))


def test_the_tables_are_those_of_the_code(empty: str) -> None:
    assert alembic(empty, "check").returncode != 0  # nothing there yet: the check does look
    answer = alembic(empty, "upgrade", "head")
    assert answer.returncode == 0, answer.stderr
    answer = alembic(empty, "check")
    assert answer.returncode == 0, answer.stdout + answer.stderr


async def test_views_made_from_another_text_are_replaced_and_what_stands_on_them_stays(database: str) -> None:
    connection = await asyncpg.connect(database)
    here = await connection.fetch(PAGES)
    assert {row["relname"] for row in here} == {view.name for view in VIEWS}
    last = OUTCOME_ROWS.query.rindex(",\n       c.digest")
    older = OUTCOME_ROWS.query[:last] + OUTCOME_ROWS.query[OUTCOME_ROWS.query.index("\n  FROM outcomes o") :]
    await connection.execute(f"drop view outcome_rows; create view outcome_rows as {older}")
    await connection.execute("create view mine as select verdict from outcome_rows")
    await connection.execute("update view_definitions set sha256 = 'of another text'")
    await upgrade(database)
    assert await connection.fetch("select * from mine") == []
    await connection.execute("drop view mine")
    assert await connection.fetch(PAGES) == here
    await connection.close()


async def test_views_that_are_the_code_s_are_left_alone(database: str) -> None:
    connection = await asyncpg.connect(database)
    async with connection.transaction():
        await connection.fetch("select * from outcome_rows")
        # This reader holds the views for as long as it likes: a coordinator that starts does not wait for it.
        await upgrade(database)
    await connection.close()


async def test_a_view_that_somebody_reads_is_not_waited_for(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("update view_definitions set sha256 = 'of another text'")
    async with connection.transaction():
        await connection.fetch("select * from outcome_rows")
        with pytest.raises(DatabaseError, match="lock timeout"):
            await upgrade(database)
    await upgrade(database)
    await connection.close()
