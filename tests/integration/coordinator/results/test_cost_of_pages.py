"""For a page, PostgreSQL reads only the rows that the page shows, however large the database is."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from bench import charted
from bench.charted import Size
from coordinator.results import service as matrix
from coordinator.results import store
from coordinator.results.outcomes import store as outcomes
from tests.plans import rows_read

EARLIER = Size("wide", functions=1_500, cases=4, runs=2, targets=4)
LATER = Size("torch", functions=400, cases=4, runs=2, targets=4)


@pytest.fixture
async def campaigns(database: str) -> list[int]:
    return list(await charted.make(database, EARLIER, LATER))


async def test_a_page_of_outcomes_reads_no_earlier_campaign(owner: AsyncEngine, campaigns: list[int]) -> None:
    values = {"campaign": campaigns[-1], "after": 0, "limit": 50}
    assert await rows_read(owner, outcomes._PAGE.format(clauses=""), values, "outcomes") <= LATER.outcomes + 2


async def test_cells_of_a_function_are_read_alone(
    owner: AsyncEngine, engine: AsyncEngine, campaigns: list[int]
) -> None:
    earlier, campaign = campaigns
    await matrix.ensure_fresh(engine, earlier, at_any_size=True)
    async with owner.begin() as connection:
        await connection.execute(text("ANALYZE matrix_cells"))
    await matrix.ensure_fresh(engine, campaign, at_any_size=True)
    values = {"campaign": campaign, "frameworks": [LATER.framework], "functions": [LATER.names[7]]}
    assert await rows_read(owner, store._CELLS.text, values, "matrix_cells") == LATER.targets
