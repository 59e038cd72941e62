"""The number of a suite's cases with expected values from the host is counted once, when the suite is stored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import asyncpg
import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.database.tables import suites
from coordinator.registry.suites import store_bundled_suite, store_suite
from protocol.catalogue import CatalogueCase, CatalogueSuite
from protocol.enums import JUDGED_BY, WRONG_ON_HOST, Judge
from tests.integration.coordinator.database.test_migration import alembic

BY_NUMPY = f"{JUDGED_BY}{Judge.numpy}"
TAGS = {"right": [BY_NUMPY], "wrong": [BY_NUMPY, WRONG_ON_HOST], "by-hand": ["value"]}


@pytest.fixture
def before(new_database: Callable[..., str]) -> str:
    dsn = new_database(template="template1")
    assert alembic(dsn, "upgrade", "0003").returncode == 0
    return dsn


def suite(*names: str) -> CatalogueSuite:
    cases = [CatalogueCase(id=f"f/{name}", function="f", tags=TAGS[name]) for name in names]
    return CatalogueSuite(name="own", revision="1", cases=cases)


async def test_a_stored_suite_says_how_many_of_its_cases_were_drawn(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        whole = await store_suite(connection, "torch", suite(*TAGS))
        part = await store_bundled_suite(connection, "torch", suite("right", "by-hand"))
        by_hand = await store_suite(connection, "jax", suite("by-hand"))
        rows = await connection.execute(select(suites.c.id, suites.c.drawn_cases, suites.c.wrong_on_host))
    counts = {row.id: (row.drawn_cases, row.wrong_on_host) for row in rows}
    assert {suite_id: counts[suite_id] for suite_id in (whole, part, by_hand)} == {
        whole: (2, 1),
        part: (1, 0),
        by_hand: (0, 0),
    }


async def test_the_migration_counts_suites_that_were_stored_before(before: str) -> None:
    connection = await asyncpg.connect(before)
    await connection.execute(
        """
        insert into suites (name, framework, revision, digest)
        values ('own', 'torch', '1', ''), ('none', 'torch', '1', '')
        """
    )
    for position, (name, tags) in enumerate(TAGS.items()):
        await connection.execute(
            "insert into cases (suite_id, name, function, position, tags) values (1, $1, 'f', $2, $3)",
            *(f"f/{name}", position, json.dumps(tags)),
        )
    answer = await asyncio.to_thread(alembic, before, "upgrade", "head")
    assert answer.returncode == 0, answer.stderr
    rows = await connection.fetch("select drawn_cases, wrong_on_host from suites order by id")
    assert [tuple(row) for row in rows] == [(2, 1), (0, 0)]
    await connection.close()
