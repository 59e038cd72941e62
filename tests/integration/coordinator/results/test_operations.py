"""The functions of an operation: the counts by target, and each case of one operation."""

from __future__ import annotations

import json
import random
from typing import Any

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.errors import NotFoundError
from coordinator.results import operations
from coordinator.results.operations import Met
from tests.integration.coordinator.database.test_views import draw_outcomes, store

MOVED = "aten::moved"
FAILED = "aten::failed"


@pytest.fixture
async def outcomes(connection: asyncpg.Connection[Any]) -> list[dict[str, Any]]:
    """Outcomes of every kind. Fallbacks ran ``MOVED`` on the host, and all other failures are at ``FAILED``."""
    await store(connection, draw_outcomes(random.Random(1), 2, 2), 2, 2)
    await connection.execute(
        "update outcomes set proof = $1 where verdict = 'passed' and placement = 'fell_back'",
        json.dumps({"fallbacks": {MOVED: 3, "aten::_to_copy": 1}}),
    )
    await connection.execute(
        "update outcomes set proof = '{}' where not (verdict = 'passed' and placement = 'fell_back')"
    )
    failing = {"operation": FAILED, "dtypes": ["float32"], "kernels": "none"}
    await connection.execute("update outcomes set evidence = $1 where job_id % 2 = 0", json.dumps(failing))
    await connection.execute("update outcomes set evidence = '{}' where job_id % 2 = 1")
    await connection.execute("update outcomes set ending = 'mismatched' where job_id % 4 = 0 and verdict = 'failed'")
    await connection.execute("update outcomes set cause = 'not_lowered' where job_id % 8 = 0 and verdict = 'skipped'")
    await connection.execute(
        "insert into campaign_targets (campaign_id, target_id, suite_id, total, done)"
        " select campaign_id, target_id, 1, count(*), count(*) from outcomes group by 1, 2"
    )
    rows = await connection.fetch(
        "select o.*, c.function, c.name as case from outcomes o join cases c on c.id = o.case_id"
    )
    return [dict(row) for row in rows]


def met(row: dict[str, Any], operation: str) -> Met | None:
    """How an outcome is related to the operation (failed or fell back), in the words of the reference page."""
    if operation == MOVED:
        return Met.fell_back if (row["verdict"], row["placement"]) == ("passed", "fell_back") else None
    if row["job_id"] % 2:
        return None
    if row["verdict"] == "failed":
        return Met.diverged if row["ending"] == "mismatched" else Met.failed
    return Met.not_lowered if row["cause"] == "not_lowered" else None


@pytest.mark.parametrize("operation", [MOVED, FAILED])
async def test_cases_are_counted_by_operation_and_target(
    engine: AsyncEngine, outcomes: list[dict[str, Any]], operation: str
) -> None:
    operation_rows = await operations.of_campaign(engine, 1)
    assert not operation_rows.more
    by_target = {row.target_id: row for row in operation_rows.operations if row.operation == operation}
    for target in (1, 2):
        mine = [row for row in outcomes if (row["campaign_id"], row["target_id"]) == (1, target)]
        for way in Met:
            cases = {row["case_id"] for row in mine if met(row, operation) is way}
            assert getattr(by_target[target], way) == len(cases)
        assert by_target[target].functions == sorted({row["function"] for row in mine if met(row, operation)})


async def test_of_one_operation_each_case_is_told(engine: AsyncEngine, outcomes: list[dict[str, Any]]) -> None:
    for operation in (MOVED, FAILED):
        case_rows = await operations.cases_of(engine, 1, operation)
        expected_runs: dict[tuple[int, str, str], int] = {}
        for row in outcomes:
            if row["campaign_id"] == 1 and (way := met(row, operation)):
                key = (row["target_id"], row["case"], str(way))
                expected_runs[key] = expected_runs.get(key, 0) + 1
        assert {(case.target_id, case.case, str(case.met)): case.runs for case in case_rows.cases} == expected_runs
        for case in case_rows.cases:
            assert case.times == (3 if operation == MOVED else None)
            assert (case.dtypes, case.kernels) == (([], None) if operation == MOVED else (["float32"], "none"))


async def test_names_narrow_by_letters_and_an_unknown_one_says_what_is_recorded(
    engine: AsyncEngine, outcomes: list[dict[str, Any]]
) -> None:
    operation_rows = await operations.of_campaign(engine, 1, "MOV")
    assert {row.operation for row in operation_rows.operations} == {MOVED}
    with pytest.raises(NotFoundError, match="executions on the device are not recorded"):
        await operations.cases_of(engine, 1, "aten::nowhere")
