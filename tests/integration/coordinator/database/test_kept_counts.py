"""The migration to counts by rule keeps what a matrix had, up and down."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import asyncpg

from tests.integration.coordinator.database.test_migration import alembic

COLUMNS = (
    "function", "host_only", "verdict", "verdict_on_device", "passed", "failed", "total", "cause", "passed_on_device",
    "total_on_device", "unknown_placement", "cause_on_device", "verdict_independent", "cause_independent",
    "passed_independent", "total_independent", "host_work", "verdict_without_host_work",
)  # fmt: skip
CELLS: list[tuple[Any, ...]] = [
    ("torch.cat", False, "partial", "complete", 3, 2, 5, "type", 0, 3, 2, "placement",
     "success", None, 1, 1, 1, "partial"),
    ("torch.seed", True, "success", None, 2, 0, 2, None, None, None, None, None,
     "unknown", None, 0, 0, 0, "success"),
]  # fmt: skip


async def cells(connection: asyncpg.Connection[Any]) -> list[tuple[Any, ...]]:
    return [
        tuple(row) for row in await connection.fetch(f"select {', '.join(COLUMNS)} from matrix_cells order by function")
    ]


async def test_what_is_kept_of_a_cell_comes_through_the_upgrade_and_back(new_database: Callable[..., str]) -> None:
    dsn = await asyncio.to_thread(new_database, template="template1")
    assert alembic(dsn, "upgrade", "0001").returncode == 0
    connection = await asyncpg.connect(dsn)
    await connection.execute(
        "insert into campaigns (name, suite, selectors, functions, runs, timeout_s, timing)"
        " values ('c', 'paper', '[]', '[]', 1, 900, 'steady');"
        "insert into targets (framework, version, device, device_class, hardware, environment)"
        " values ('torch', '2.9.0', 'xla', 'cpu', 'a CPU', 'e');"
        "insert into matrices (campaign_id, done, reclassifications, took_s, definition) values (1, 1, 0, 0, 'before')"
    )
    places = ", ".join(f"${number}" for number in range(1, len(COLUMNS) + 1))
    await connection.executemany(
        f"insert into matrix_cells (campaign_id, framework, target_id, module, skipped, incomplete, flaky, fell_back,"
        f" unknown_cause, {', '.join(COLUMNS)}) values (1, 'torch', 1, 'torch', 0, 0, 0, 0, 0, {places})",
        CELLS,
    )
    done = alembic(dsn, "upgrade", "0002")
    assert done.returncode == 0, done.stderr
    kept = {
        row["function"]: json.loads(row["counts"])
        for row in await connection.fetch("select function, counts from matrix_cells")
    }
    assert kept["torch.cat"] == {
        "anywhere": {"verdict": "partial", "passed": 3, "failed": 2, "total": 5, "unknown": 0, "cause": "type"},
        "on_device": {"verdict": "complete", "passed": 0, "failed": 3, "total": 3, "unknown": 2, "cause": "placement"},
        "without_host_work": {"verdict": "partial", "passed": 3, "failed": 1, "total": 4, "unknown": 0},
        "independent": {"verdict": "success", "passed": 1, "failed": 0, "total": 1, "unknown": 0},
    }
    assert "on_device" not in kept["torch.seed"]
    done = alembic(dsn, "downgrade", "0001")
    assert done.returncode == 0, done.stderr
    await connection.reload_schema_state()
    assert await cells(connection) == CELLS
    assert await connection.fetchval("select definition from matrices") == "", "to be made anew by what comes next"
    await connection.close()
