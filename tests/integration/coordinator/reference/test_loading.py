"""The reference in the database equals the data files, however often the database is upgraded."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import Table
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.errors import DatabaseError, UnknownNameError
from coordinator.migration import upgrade
from coordinator.reference import reader, service
from coordinator.reference.store import TABLES

PAGE = Path(__file__).resolve().parents[4] / "docs" / "reference" / "database.md"


async def test_what_is_read_back_is_what_the_data_files_say(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        assert await service.find(connection, "paper-2023") == reader.read()


async def test_an_unknown_reference_is_refused_by_naming_those_that_are_there(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        with pytest.raises(UnknownNameError, match="there is no reference 'paper-2024'; choose one of: paper-2023"):
            await service.find(connection, "paper-2024")


async def test_loading_again_changes_nothing(database: str) -> None:
    connection = await asyncpg.connect(database)
    places = "select ctid, xmin, * from reference_latencies order by number"
    before = await connection.fetch(places)
    await asyncio.gather(*(upgrade(database) for _ in range(3)))
    assert await connection.fetch(places) == before
    await connection.close()


async def test_figures_that_differ_from_the_data_files_are_put_right_at_the_next_upgrade(database: str) -> None:
    """This happens after a release that corrects a figure of the study."""
    connection = await asyncpg.connect(database)
    await connection.execute("update reference_sources set sha256 = 'of another release'")
    await connection.execute("update reference_counts set partial = 99")
    await connection.execute("delete from reference_caveats")
    await upgrade(database)
    assert await connection.fetchval("select max(partial) from reference_counts") == 17
    assert await connection.fetchval("select count(*) from reference_caveats") == len(reader.read().caveats)
    await connection.close()


async def test_a_loading_that_fails_half_way_leaves_what_was_there(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("update reference_sources set sha256 = 'of another release'")
    await connection.execute("alter table reference_caveats add constraint full_up check (number < 0) not valid")
    with pytest.raises(DatabaseError, match="full_up"):
        await upgrade(database)
    assert await connection.fetchval("select sha256 from reference_sources") == "of another release"
    assert await connection.fetchval("select count(*) from reference_caveats") == len(reader.read().caveats)
    await connection.close()


async def test_nothing_of_it_stands_among_campaigns_or_outcomes(database: str) -> None:
    connection = await asyncpg.connect(database)
    for table in ("campaigns", "jobs", "outcomes", "targets", "cases", "suites"):
        assert await connection.fetchval(f"select count(*) from {table}") == 0
    for table in TABLES.values():
        assert await connection.fetchval(f"select count(*) from {table.name}") > 0
    await connection.close()


async def test_a_latency_that_was_not_published_is_there_and_null(database: str) -> None:
    connection = await asyncpg.connect(database)
    row = await connection.fetchrow(
        "select count(*) as every, count(milliseconds) as published from reference_latencies where framework = 'torch'"
    )
    assert (row["every"], row["published"]) == (63 * 2, 43 * 2)
    await connection.close()


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
async def test_the_documentation_lists_the_columns_of_each_table_in_their_order(table: Table, database: str) -> None:
    section = PAGE.read_text().split(f"### {table.name}\n")[1].split("\n##")[0]
    connection = await asyncpg.connect(database)
    columns = await connection.fetch(
        "SELECT column_name FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position", table.name
    )
    await connection.close()
    documented_columns = ["reference", "number", *re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)]
    assert documented_columns == [column["column_name"] for column in columns]
