"""One changed case costs the cells of its function, and not the comparison: what has the same cases is compared."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.results import service
from coordinator.results.comparison import service as comparison
from coordinator.results.comparison.pairs import SideSelector
from tests.integration.matrix.test_kept_matrix import FUNCTIONS, campaign

CHANGED = "torch.cat"
A, B = SideSelector(1), SideSelector(2)


@pytest.fixture
async def two_revisions(connection: asyncpg.Connection[Any]) -> asyncpg.Connection[Any]:
    """Two campaigns under two revisions of a suite, of which one case of one function is another one."""
    assert [await campaign(connection, seed) for seed in (1, 2)] == [1, 2]
    await connection.execute("update cases set digest = 'of ' || name")
    await connection.execute(
        "update cases c set digest = 'another' from suites s"
        " where s.id = c.suite_id and s.revision = 'r2' and c.name = $1",
        f"{CHANGED}/0",
    )
    return connection


async def test_functions_with_the_same_cases_are_compared(
    engine: AsyncEngine, two_revisions: asyncpg.Connection[Any]
) -> None:
    found = await comparison.compare(engine, A, B, "anywhere")
    assert not found.left_out
    assert found.pairs
    for pair in found.pairs:
        assert pair.changed_functions == [CHANGED]
        assert any("(r1 and r2): 1 function with other cases left out" in note for note in pair.notes)
        changes = {change.function: change for change in pair.verdicts.changes}
        assert changes[CHANGED].kind == "insufficient data"
        assert changes[CHANGED].why == "its cases are other ones in the two revisions of the suite"
        assert sum(dict(pair.verdicts.counts).values()) >= len(FUNCTIONS)
        assert any(kind != "insufficient data" for kind in (c.kind for name, c in changes.items() if name != CHANGED))
        assert CHANGED not in {change.function for change in pair.latencies.changes}


async def test_without_digests_two_revisions_are_not_compared(
    engine: AsyncEngine, two_revisions: asyncpg.Connection[Any]
) -> None:
    await two_revisions.execute("update cases set digest = null")
    found = await comparison.compare(engine, A, B, "anywhere")
    assert not found.pairs
    assert {omission.side for omission in found.left_out} == {"both"}
    assert all("no function is known to have the same cases" in omission.why for omission in found.left_out)


async def test_a_history_goes_on_over_revisions_as_long_as_the_cases_are_the_same(
    engine: AsyncEngine, two_revisions: asyncpg.Connection[Any]
) -> None:
    for number in (1, 2):
        await service.refreshed(engine, number)
    for function in FUNCTIONS:
        cells = (await service.history(engine, "torch", function)).cells
        digests = {cell.cases_digest for cell in cells}
        assert len(digests) == (2 if function == CHANGED else 1)
        for cell in cells:
            before = [old for old in cells if old.device == cell.device and old.campaign_id < cell.campaign_id]
            differs = any(
                (old.verdict, old.verdict_on_device) != (cell.verdict, cell.verdict_on_device) for old in before
            )
            assert cell.changed == (differs and function != CHANGED)
