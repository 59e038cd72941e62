"""A database that took impossible numbers before: the upgrade makes them *not measured*, and figures are made again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import httpx
import pytest
from alembic.script import ScriptDirectory

from coordinator.app import create_app
from coordinator.database.migration import configuration, upgrade
from coordinator.settings import Settings
from tests.faults.numbers.reading import read_everything
from tests.integration.database.test_migration import alembic

REVISION = "0011"
NUMBERS = ("nan", "inf", "-inf", "-1", "1e300")
COLUMNS = ("init_ms", "cold_ms", "steady_ms", "iqr_ms", "lock_wait_ms", "duration_s")


@pytest.fixture
def before(new_database: Callable[..., str]) -> str:
    """A database without the revision."""
    dsn = new_database(template="template1")
    older = ScriptDirectory.from_config(configuration()).get_revision(REVISION).down_revision
    done = alembic(dsn, "upgrade", str(older))
    assert done.returncode == 0, done.stderr
    return dsn


@pytest.fixture
async def old(before: str) -> AsyncIterator[tuple[str, asyncpg.Connection[Any]]]:
    """The database as it was, and somebody who writes into it."""
    connection = await asyncpg.connect(before)
    yield before, connection
    await connection.close()


async def stored(connection: asyncpg.Connection[Any], numbers: list[dict[str, float]], samples: list[float]) -> int:
    """A campaign with one outcome of each of these, all with these samples; its matrix is kept."""
    suite = await connection.fetchval(
        "insert into suites (name, framework, revision) values ('paper', 'torch', '1') returning id"
    )
    campaign = await connection.fetchval(
        "insert into campaigns (name, suite, selectors, functions, runs, timeout_s, timing, state)"
        " values ('c', 'paper', '[]', '[]', 1, 900, 'steady', 'done') returning id"
    )
    target = await connection.fetchval(
        "insert into targets (framework, version, device, device_class, hardware, environment)"
        " values ('torch', '2.9.0', 'cpu', 'cpu', 'a CPU', 'e') returning id"
    )
    await connection.execute(
        "insert into campaign_targets (campaign_id, target_id, suite_id, total, done, passed)"
        " values ($1, $2, $3, $4, $4, $4)",
        *(campaign, target, suite, len(numbers)),
    )
    for position, one in enumerate(numbers):
        case = await connection.fetchval(
            "insert into cases (suite_id, name, function, position) values ($1, $2, $3, $4) returning id",
            *(suite, f"torch.f{position}/0", f"torch.f{position}", position),
        )
        job = await connection.fetchval(
            "insert into jobs (campaign_id, target_id, case_id, run, priority, state)"
            " values ($1, $2, $3, 1, 0, 'done') returning id",
            *(campaign, target, case),
        )
        values = dict.fromkeys(COLUMNS, 1.0) | {"samples_ms": samples, "calls_per_sample": 1} | one
        names = ", ".join(values)
        places = ", ".join(f"${number}" for number in range(6, 6 + len(values)))
        await connection.execute(
            "insert into outcomes (job_id, attempt, campaign_id, target_id, case_id, run, verdict, ending, placement,"
            f" position, log_bytes, {names})"
            f" values ($1, 1, $2, $3, $4, 1, 'passed', 'returned', $5, -1, -1, {places})",
            *(job, campaign, target, case, "on_device", *values.values()),
        )
    await connection.execute(
        "insert into matrices (campaign_id, done, renamed, took_s) values ($1, $2, 0, 0)", campaign, len(numbers)
    )
    return int(campaign)


async def test_impossible_numbers_become_not_measured(old: tuple[str, asyncpg.Connection[Any]]) -> None:
    dsn, connection = old
    wrong = [{column: float(number)} for column in COLUMNS for number in NUMBERS]
    campaign = await stored(connection, [*wrong, {}, {"cold_ms": 5e-324}], [1.0, 2.0])
    await upgrade(dsn)
    rows = [dict(row) for row in await connection.fetch("select * from outcomes order by job_id")]
    for row, one in zip(rows, wrong, strict=False):
        (column,) = one
        rounding = column == "iqr_ms" and one[column] in (-1.0,)
        assert row[column] == (0.0 if column == "duration_s" or rounding else None), (column, one)
        assert all(row[other] == 1.0 for other in COLUMNS if other != column)
        assert (row["samples_ms"], row["position"], row["log_bytes"]) == ([1.0, 2.0], 0, 0)
    assert all(rows[-2][column] == 1.0 for column in COLUMNS)
    assert rows[-1]["cold_ms"] == 0.0
    await shows(dsn, campaign)


@pytest.mark.parametrize("number", NUMBERS)
async def test_samples_with_an_impossible_one_are_not_believed(
    old: tuple[str, asyncpg.Connection[Any]], number: str
) -> None:
    dsn, connection = old
    campaign = await stored(connection, [{"steady_ms": 1.0}], [1.0, float(number)])
    await upgrade(dsn)
    row = await connection.fetchrow("select * from outcomes")
    assert [row[name] for name in ("samples_ms", "steady_ms", "iqr_ms", "calls_per_sample")] == [None] * 4
    assert (row["cold_ms"], row["duration_s"]) == (1.0, 1.0)
    await shows(dsn, campaign)


async def shows(dsn: str, campaign: int) -> None:
    app = create_app(Settings(database_url=dsn))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator", timeout=120) as client,
    ):
        await read_everything(client, campaign, "torch")
