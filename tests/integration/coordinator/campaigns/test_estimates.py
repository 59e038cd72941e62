"""A dry run's estimate is the mean duration of the planned cases, and reads only a few of many outcomes."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bench import charted
from bench.charted import Size
from coordinator.campaigns import store
from coordinator.campaigns.models import Counters
from coordinator.campaigns.plan import Plan, TargetPlan
from coordinator.campaigns.service import ENOUGH_JOBS, estimate_of_rest
from coordinator.targets.selectors import TargetName
from tests.plans import rows_read

PLANNED = Size("wide", functions=500, cases=4, runs=1, targets=2)
LATER = Size("torch", functions=1_500, cases=4, runs=2, targets=2)


@pytest.fixture
async def campaigns(database: str) -> list[int]:
    return list(await charted.make(database, PLANNED, LATER))


async def plan_of(connection: AsyncConnection, campaign: int) -> Plan:
    """All cases of a campaign on one of its targets."""
    rows = await connection.execute(
        text("""
        SELECT t.id, t.framework, t.version, t.device, ct.suite_id, array_agg(c.id ORDER BY c.id) AS case_ids
          FROM campaign_targets ct JOIN targets t ON t.id = ct.target_id JOIN cases c ON c.suite_id = ct.suite_id
         WHERE ct.campaign_id = :campaign AND t.device = 'cpu' GROUP BY t.id, ct.suite_id
        """),
        {"campaign": campaign},
    )
    row = rows.one()
    target = TargetName(row.id, row.framework, row.version, row.device)
    return Plan((TargetPlan(target, row.suite_id, tuple(row.case_ids), frozenset()),), runs=1)


async def test_an_estimate_reads_some_outcomes_of_the_planned_cases_and_no_others(
    owner: AsyncEngine, campaigns: list[int]
) -> None:
    async with owner.connect() as connection:
        plan = await plan_of(connection, campaigns[0])
        ((target_id, (mean_s, outcomes)),) = (await store.earlier_durations(connection, plan)).items()
    (target,) = plan.targets
    assert (target_id, mean_s, outcomes) == (target.target.id, pytest.approx(0.1), store.ESTIMATED_BY)
    values = {"target": target_id, "suite": target.suite_id, "cases": list(target.case_ids)}
    assert await rows_read(owner, store._EARLIER_DURATIONS.text, values, "outcomes") <= len(target.case_ids)


async def test_cases_that_never_ran_have_no_estimate(owner: AsyncEngine, campaigns: list[int]) -> None:
    async with owner.connect() as connection:
        plan = await plan_of(connection, campaigns[0])
        await connection.execute(text("DELETE FROM outcomes WHERE campaign_id = :id"), {"id": campaigns[0]})
        assert await store.earlier_durations(connection, plan) == {}


@pytest.mark.parametrize(("done", "is_served", "seconds"), [(50, True, 10.0), (50, False, None), (100, False, 0.0)])
def test_the_time_left_is_unknown_while_no_runner_serves_the_rest(
    done: int, is_served: bool, seconds: float | None
) -> None:
    counters = Counters(total=100, done=done, passed=done, failed=0, skipped=0, incomplete=0, cancelled=0)
    assert done >= ENOUGH_JOBS
    assert estimate_of_rest(counters, 10.0, is_served=is_served).seconds == seconds


@pytest.mark.parametrize(("done", "words"), [(50, "at least 10 s"), (100, "0 s"), (1, "–")])
def test_the_time_left_is_a_lower_bound_while_timed_runs_follow_untimed_ones(done: int, words: str) -> None:
    counters = Counters(total=100, done=done, passed=done, failed=0, skipped=0, incomplete=0, cancelled=0)
    assert estimate_of_rest(counters, 10.0, verdicts_first=True).words == words
