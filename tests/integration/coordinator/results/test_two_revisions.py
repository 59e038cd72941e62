"""If one case changes between two revisions, a comparison excludes only this case and compares the others."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.figures.counting import ANYWHERE, ON_DEVICE, SIDE_BY_SIDE
from coordinator.results import service
from coordinator.results.comparison import service as comparison
from coordinator.results.comparison.cases import ANOTHER_CASE
from coordinator.results.comparison.pairs import SideSelector
from tests.integration.coordinator.results.test_kept_matrix import CASES, FUNCTIONS, campaign

CHANGED = "torch.cat"
A, B = SideSelector(1), SideSelector(2)


@pytest.fixture
async def two_revisions(connection: asyncpg.Connection[Any]) -> asyncpg.Connection[Any]:
    """Two campaigns with two revisions of a suite. One case of one function differs."""
    assert [await campaign(connection, seed) for seed in (1, 2)] == [1, 2]
    await connection.execute("update cases set digest = 'of ' || name")
    await connection.execute(
        "update cases c set digest = 'another' from suites s"
        " where s.id = c.suite_id and s.revision = 'r2' and c.name = $1",
        f"{CHANGED}/0",
    )
    return connection


async def test_the_cases_that_are_the_same_are_compared(
    engine: AsyncEngine, two_revisions: asyncpg.Connection[Any]
) -> None:
    difference = await comparison.compare(engine, A, B, ANYWHERE)
    assert not difference.left_out
    assert difference.pairs
    for pair in difference.pairs:
        assert pair.other_cases == [f"{CHANGED}/0"]
        assert any("(r1 and r2): 1 case of the charted functions cannot be compared" in note for note in pair.notes)
        changes = {change.function: change for change in pair.verdicts.changes}
        for function, change in changes.items():
            left_out = [case.case for case in change.cases if case.why == ANOTHER_CASE]
            assert left_out == ([f"{CHANGED}/0"] if function == CHANGED else [])
        counts = pair.verdicts.counts
        assert len(FUNCTIONS) == sum(
            dict(counts)[kind] for kind in ("regressions", "fixes", "mixed", "changes", "lost", "same", "insufficient")
        )
        assert sum(dict(pair.verdicts.cases).values()) == len(FUNCTIONS) * CASES
        assert pair.verdicts.changed


async def test_only_the_functions_charted_are_counted(
    engine: AsyncEngine, two_revisions: asyncpg.Connection[Any]
) -> None:
    await two_revisions.execute(
        "delete from outcomes o using cases c where c.id = o.case_id and c.function = $1", CHANGED
    )
    difference = await comparison.compare(engine, A, B, ANYWHERE)
    for pair in difference.pairs:
        assert pair.other_cases == []
        assert CHANGED not in {change.function for change in pair.verdicts.changes}


async def test_counted_by_device_host_functions_stay_out(
    engine: AsyncEngine, two_revisions: asyncpg.Connection[Any]
) -> None:
    difference = await comparison.compare(engine, A, B, ON_DEVICE)
    for pair in difference.pairs:
        assert "lone" not in {change.function for change in pair.verdicts.changes}
        assert sum(dict(pair.verdicts.cases).values()) == (len(FUNCTIONS) - 1) * CASES
        views = await two_revisions.fetch(
            "select function, sum(total_on_device) as total from function_verdicts"
            " where campaign_id = 1 and target_id = $1 group by function",
            pair.a.id,
        )
        totals = {row["function"]: row["total"] for row in views}
        for change in pair.verdicts.changes:
            assert change.a is not None
            assert change.a.total == totals[change.function]


async def test_without_digests_two_revisions_are_not_compared(
    engine: AsyncEngine, two_revisions: asyncpg.Connection[Any]
) -> None:
    await two_revisions.execute("update cases set digest = null")
    difference = await comparison.compare(engine, A, B, ANYWHERE)
    assert not difference.pairs
    assert {omission.side for omission in difference.left_out} == {"both"}
    assert all("no case is known to be the same" in omission.why for omission in difference.left_out)


async def test_a_history_goes_on_over_revisions_as_long_as_the_cases_are_the_same(
    engine: AsyncEngine, two_revisions: asyncpg.Connection[Any]
) -> None:
    for number in (1, 2):
        await service.ensure_fresh(engine, number)
    for function in FUNCTIONS:
        cells = (await service.history(engine, "torch", function)).cells
        digests = {cell.cases_digest for cell in cells}
        assert len(digests) == (2 if function == CHANGED else 1)
        for cell in cells:
            before = [old for old in cells if old.device == cell.device and old.campaign_id < cell.campaign_id]
            differs = any(any(old.verdict_by(rule) != cell.verdict_by(rule) for rule in SIDE_BY_SIDE) for old in before)
            assert cell.changed == (differs and function != CHANGED)
