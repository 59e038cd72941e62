"""The evidence of one function from many campaigns is equal to its part of all evidence, and needs as few statements as
for one campaign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from bench import charted
from bench.charted import Size
from coordinator.assess import service
from coordinator.assess.evidence import TargetEvidence
from coordinator.targets.selectors import Selector
from protocol.enums import HOST

CHART = Size("torch", functions=3, cases=4, runs=2, targets=2)
FUNCTION = CHART.names[1]


async def make_charts(database: str, number: int) -> None:
    """Campaigns whose suites have different revisions with the same cases."""
    await charted.make(database, *(replace(CHART, revision=str(revision)) for revision in range(number)))


@contextmanager
def counted_statements(engine: AsyncEngine) -> Iterator[list[str]]:
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(engine.sync_engine, "before_cursor_execute", note)
    yield statements
    event.remove(engine.sync_engine, "before_cursor_execute", note)


async def read_function(engine: AsyncEngine) -> tuple[TargetEvidence, ...]:
    return await service.evidence_of_functions(engine, "torch", [FUNCTION])


async def test_a_function_of_many_campaigns_is_read_with_as_few_statements_as_that_of_one(
    database: str, engine: AsyncEngine
) -> None:
    await make_charts(database, 12)
    with counted_statements(engine) as statements:
        targets = await read_function(engine)
    assert [len(target.charts) for target in targets] == [12, 12]
    assert {case.chart for target in targets for case in target.functions[FUNCTION]} == {0}
    # The charts, their digests and ends; of the newest the runs and ratios.
    assert len(statements) == 5


async def test_a_function_has_the_cases_and_disagreements_that_it_has_among_all(
    database: str, engine: AsyncEngine
) -> None:
    await make_charts(database, 12)
    (whole,) = await service.evidence(engine, Selector.parse("*/*"))
    (alone,) = [target for target in await read_function(engine) if target.device != HOST]
    assert alone.charts == whole.charts
    assert alone.functions[FUNCTION] == whole.functions[FUNCTION]
    assert any(case.disagreeing for case in alone.functions[FUNCTION])


async def test_a_target_is_not_lost_behind_the_many_charts_of_another(
    database: str, engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_CHARTS", 1)
    await make_charts(database, 2)
    assert [len(target.charts) for target in await read_function(engine)] == [1] * CHART.targets
