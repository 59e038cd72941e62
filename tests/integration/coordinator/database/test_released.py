"""A database of every released version, and of this one, is upgraded. No data is lost, and all of it can be read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from coordinator.app import create_app
from coordinator.configuration.settings import Settings
from coordinator.migration import upgrade
from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.database_roles import application
from tests.faults.numbers.reading import read_everything
from tests.integration.coordinator.database.release_dump import dump, fill, restore
from tests.integration.coordinator.database.test_migration import alembic

RELEASED = Path(__file__).parent / "released"
THIS = "this version"
VERSIONS = [THIS, *sorted(path.stem for path in RELEASED.glob("*.sql"))]
CHANGELOG = Path(__file__).resolve().parents[4] / "CHANGELOG.md"


@pytest.fixture(params=VERSIONS)
def database(request: pytest.FixtureRequest, new_database: Callable[..., str]) -> str:
    """A database as this version left it."""
    if request.param != THIS:
        statements = (RELEASED / f"{request.param}.sql").read_text()
    else:
        source = new_database()
        asyncio.run(fill(source))
        statements = dump(source)
    dsn = new_database(template="template1")
    asyncio.run(restore(dsn, statements))
    return dsn


async def rows_of_views(dsn: str) -> dict[str, list[dict[str, Any]]]:
    connection = await asyncpg.connect(dsn)
    names = await connection.fetch(
        "select relname from pg_class where relkind = 'v' and relnamespace = 'public'::regnamespace order by relname"
    )
    rows = {
        name["relname"]: [
            dict(row) for row in await connection.fetch(f"select * from public.{name['relname']} t order by t::text")
        ]
        for name in names
    }
    await connection.close()
    return rows


async def test_every_row_of_every_view_is_there_after_the_upgrade(database: str) -> None:
    before = await rows_of_views(database)
    await upgrade(database)
    after = await rows_of_views(database)
    assert before["outcome_rows"]
    for name, rows in before.items():
        key = list(rows[0]) if rows else []
        rows_after = [{column: row[column] for column in key} for row in after[name]]
        assert sorted(rows_after, key=repr) == sorted(rows, key=repr), name


async def test_the_upgraded_schema_is_the_code_s_and_every_figure_can_be_read(database: str) -> None:
    await upgrade(database)
    answer = alembic(database, "check")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    app = create_app(Settings(database_url=application(database), admin_token=ADMIN_TOKEN))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost", headers=AS_ADMIN, timeout=120
        ) as client,
    ):
        await read_everything(client, 1, "torch")


def test_a_dump_is_kept_of_every_released_version() -> None:
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", CHANGELOG.read_text(), re.MULTILINE)
    assert sorted(versions) == sorted(VERSIONS[1:]), "tests/integration/coordinator/database/release_dump.py makes it"
