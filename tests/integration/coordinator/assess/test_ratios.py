"""Ratios to the CPU as evidence: those of one function equal its part of all ratios, and reading them costs only this
function's rows."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from bench import charted
from bench.charted import Size
from coordinator.assess import service, store
from coordinator.targets.selectors import Selector
from protocol.enums import HOST

CHART = Size("torch", functions=400, cases=4, runs=2, targets=4)
FUNCTION = CHART.names[7]


@pytest.fixture
async def campaign(database: str) -> int:
    (campaign,) = await charted.make(database, CHART)
    return campaign


async def test_a_function_has_the_ratios_that_it_has_among_all(engine: AsyncEngine, campaign: int) -> None:
    whole = await service.evidence(engine, Selector.parse("*/*"))
    alone = await service.evidence_of_functions(engine, "torch", [FUNCTION])
    ratios = {target.target: ratios_of(target) for target in alone if target.device != HOST}
    assert len(ratios) == CHART.targets - 1
    assert ratios == {target.target: ratios_of(target) for target in whole}
    # A case that failed there or fell back was timed on the CPU alone.
    assert all(0 < len(own) <= CHART.cases for own in ratios.values())


async def test_to_read_one_function_reads_no_outcome_of_another(
    owner: AsyncEngine, engine: AsyncEngine, campaign: int
) -> None:
    async with owner.connect() as connection:
        statement = text(f"EXPLAIN (ANALYZE, FORMAT JSON) {store._TIMES_OF_FUNCTIONS.text}")
        values = {"campaigns": [campaign], "functions": [FUNCTION]}
        plan = (await connection.execute(statement, values)).scalar_one()[0]["Plan"]
    reads = [node for node in walk(plan) if node.get("Relation Name") == "outcomes"]
    assert reads
    rows = sum(node["Actual Rows"] * node["Actual Loops"] for node in reads)
    assert rows == CHART.cases * CHART.runs * CHART.targets


async def test_the_samples_of_a_run_are_read_once(owner: AsyncEngine, engine: AsyncEngine, campaign: int) -> None:
    async with owner.connect() as connection:
        statement = text(f"EXPLAIN (ANALYZE, FORMAT JSON) {store._TIMES_OF_FUNCTIONS.text}")
        values = {"campaigns": [campaign], "functions": [FUNCTION]}
        plan = (await connection.execute(statement, values)).scalar_one()[0]["Plan"]
        passed = await connection.execute(
            text(
                "SELECT count(*) FROM outcomes o JOIN cases c ON c.id = o.case_id"
                " WHERE o.campaign_id = :campaign AND c.function = :function"
                " AND o.verdict = 'passed' AND o.placement = 'on_device'"
            ),
            {"campaign": campaign, "function": FUNCTION},
        )
    reads = sum(node["Actual Loops"] for node in walk(plan) if node.get("Function Name") == "unnest")
    assert 0 < reads <= passed.scalar_one()


def ratios_of(target: Any) -> dict[str, float]:
    return {case.case: case.ratio for case in target.functions.get(FUNCTION, ()) if case.ratio is not None}


def walk(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(deeper for child in node.get("Plans", []) for deeper in walk(child))]
