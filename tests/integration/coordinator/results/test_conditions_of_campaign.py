"""The conditions of a campaign, read from its outcomes, equal those computed directly from its cases."""

from __future__ import annotations

import csv
import io
import json
import random
from typing import Any

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.results import condition_rows
from coordinator.results.outcomes import details
from tests.integration.coordinator.database.test_views import draw_outcomes, store


@pytest.fixture
async def outcomes(connection: asyncpg.Connection[Any]) -> list[dict[str, Any]]:
    """Random outcomes. The cases of a function differ in their dtype."""
    await store(connection, draw_outcomes(random.Random(1), 2, 2), 2, 2)
    await connection.execute(
        "update cases set options = jsonb_build_object('kind', 'value', 'dtypes', jsonb_build_array('d' || id % 4),"
        " 'calls', jsonb_build_array(jsonb_build_object('positional', id % 3)))"
    )
    await connection.execute(
        "insert into campaign_targets (campaign_id, target_id, suite_id, total, done)"
        " select campaign_id, target_id, 1, count(*), count(*) from outcomes group by 1, 2"
    )
    rows = await connection.fetch(
        "select o.*, c.function, c.host_only, c.tags, c.options, c.name as case"
        "  from outcomes o join cases c on c.id = o.case_id where campaign_id = 1"
    )
    return [dict(row) for row in rows]


async def verdicts(connection: asyncpg.Connection[Any]) -> dict[tuple[str, int], asyncpg.Record]:
    rows = await connection.fetch("select * from function_verdicts where campaign_id = 1")
    return {(row["function"], row["target_id"]): row for row in rows}


async def test_counts_are_those_of_the_verdicts(
    engine: AsyncEngine, connection: asyncpg.Connection[Any], outcomes: list[dict[str, Any]]
) -> None:
    expected_verdicts = await verdicts(connection)
    conditions = await condition_rows.of_campaign(engine, 1)
    assert conditions.rows
    for row in conditions.rows:
        verdict = expected_verdicts[row.function, row.target_id]
        assert (row.failed, row.total) == (verdict["failed"], verdict["total"])
        if row.fails is not None:
            assert row.fails.failing + row.fails.others_failing == row.failed
            assert row.fails.of + row.fails.others == row.total
    failing = {key for key, verdict in expected_verdicts.items() if verdict["failed"]}
    assert {(row.function, row.target_id) for row in conditions.rows if row.failed} == failing


async def test_options_are_those_of_the_cases(
    engine: AsyncEngine, connection: asyncpg.Connection[Any], outcomes: list[dict[str, Any]]
) -> None:
    """One case of a function fails in every run. Its dtype is the condition if no other case has this dtype."""
    function = outcomes[0]["function"]
    ids = sorted({row["case_id"] for row in outcomes if row["function"] == function})
    assert len(ids) > 1
    await connection.execute(
        "update outcomes set verdict = 'passed', placement = 'on_device', cause = null where case_id = any($1)", ids
    )
    await connection.execute("update cases set tags = '[]', host_only = null where id = any($1)", ids)
    await connection.execute("update outcomes set verdict = 'failed' where case_id = $1 and target_id = 1", ids[0])
    options = {"kind": "value", "dtypes": ["bfloat16"], "calls": [{"positional": 1, "keywords": {"axis": 0}}]}
    await connection.execute("update cases set options = $2 where id = $1", ids[0], json.dumps(options))
    framework = await connection.fetchval("select framework from suites where id = 1")
    function_details = await details.function(engine, 1, framework, function)
    here = {target.target_id: target for target in function_details.targets}
    condition = here[1].condition
    assert condition is not None
    assert condition.fails is not None
    assert condition.fails.words == (f"in bfloat16 (1 of 1, a single case), not otherwise (0 of {len(ids) - 1})")
    assert next(case.options for case in here[1].cases if case.options == options)
    of_other = here[2].condition
    assert of_other is not None
    assert (of_other.failed, of_other.fails) == (0, None)


async def test_functions_come_by_pages_and_as_a_file(engine: AsyncEngine, outcomes: list[dict[str, Any]]) -> None:
    whole = await condition_rows.of_campaign(engine, 1)
    pages = [await condition_rows.of_campaign(engine, 1, offset=offset, limit=1) for offset in range(whole.found)]
    assert [row for page in pages for row in page.rows] == whole.rows
    one = await condition_rows.of_campaign(engine, 1, function=whole.rows[0].function)
    assert {row.function for row in one.rows} == {whole.rows[0].function}
    read = list(csv.DictReader(io.StringIO(condition_rows.as_csv(whole))))
    assert [(row["function"], row["failed"]) for row in read] == [(row.function, str(row.failed)) for row in whole.rows]
