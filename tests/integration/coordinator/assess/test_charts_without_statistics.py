"""A chart is read in one pass even if PostgreSQL's statistics are older than the chart, as after a large import."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from bench import charted
from bench.charted import Size
from coordinator.assess import store
from tests.plans import rows_read

EARLIER = Size("torch", functions=200, cases=4, runs=1, targets=2)
NEW = Size("torch", functions=400, cases=4, runs=1, targets=2, suite="new")


@pytest.mark.parametrize("columns", [store._ENDS, store._IN_FULL])
async def test_a_chart_is_read_once(owner: AsyncEngine, database: str, columns: str) -> None:
    await charted.make(database, EARLIER)
    await charted.make(database, NEW, is_analyzed=False)
    async with owner.connect() as connection:
        chart = next(iter(await store.charts(connection)))
        cases = await connection.scalar(text("SELECT count(*) FROM cases"))
    values = {"campaign": chart.campaign_id, "target": chart.target_id}
    assert chart.suite == NEW.suite
    query = f"SELECT {store._CASE} {columns} {store._OF_ALL}"
    assert await rows_read(owner, query, values, "outcomes") <= EARLIER.outcomes + NEW.outcomes
    assert await rows_read(owner, query, values, "cases") <= cases
