"""Reports are computed from the matrix's stored rows. These equal the views, for random outcomes and after changes."""

from __future__ import annotations

import random
from dataclasses import fields
from typing import Any

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.figures.counting import RULES, Counts
from coordinator.reports import service
from coordinator.reports.options import ReportOptions
from coordinator.results.report_data import MEASURES, ReportData
from tests.integration.coordinator.database.test_views import draw_outcomes, store

CAMPAIGNS, TARGETS = 2, 3
COUNTS = tuple(field.name for field in fields(Counts))
COMPARED = 30
"""The columns of ``function_verdicts`` that a report needs."""


@pytest.fixture(params=range(3))
async def two_campaigns(request: pytest.FixtureRequest, connection: asyncpg.Connection[Any]) -> asyncpg.Connection[Any]:
    """Two campaigns with outcomes of every kind, on three targets, of which the first is a CPU."""
    await store(connection, draw_outcomes(random.Random(request.param), CAMPAIGNS, TARGETS), CAMPAIGNS, TARGETS)
    await connection.execute("update targets set device = 'cpu' where id = 1")
    await connection.execute("""update cases set tags = tags || '["judged-by-numpy"]' where id % 3 = 0""")
    await connection.execute(
        "insert into campaign_targets (campaign_id, target_id, suite_id, total, done)"
        " select campaign_id, target_id, 1, count(*), count(*) from outcomes group by 1, 2"
    )
    return connection


async def require_rows_of_queries(connection: asyncpg.Connection[Any], read: ReportData) -> None:
    """Check that each row of a report equals the result of the query beside its table."""
    views = await connection.fetch(read.queries.verdicts)
    assert views
    for row, verdict in zip(views, read.verdicts, strict=True):
        figures = vars(verdict) | {
            f"{name}{rule.suffix}": getattr(verdict.by(rule), name, None) for rule in RULES for name in COUNTS
        }
        figures["unknown_placement"] = figures["unknown_on_device"]
        compared_figures = {name: value for name, value in row.items() if name in figures}
        assert len(compared_figures) == COMPARED
        assert compared_figures == {name: figures[name] for name in compared_figures}
    for query, made_of in (
        (read.queries.placements, read.placements),
        (read.queries.first_calls, read.first_calls),
        (read.queries.judges, read.judged),
    ):
        compared_figures = [tuple(row) for row in await connection.fetch(query)]
        assert compared_figures
        assert compared_figures == [tuple(vars(row).values()) for row in made_of]


async def require_as_the_views_say(engine: AsyncEngine, connection: asyncpg.Connection[Any]) -> None:
    names = {row["id"]: row["name"] for row in await connection.fetch("select id, name from cases")}
    for campaign in range(1, CAMPAIGNS + 1):
        for measure in MEASURES:
            read = await service.read(engine, campaign, ReportOptions(reference="none", measure=measure))
            await require_rows_of_queries(connection, read)
            kept_latencies = {
                (row.target_id, row.function, names[case], row.host_only): value
                for row in read.latencies
                for case, value in row.by_case.items()
            }
            told_latencies = {tuple(key): value for *key, value in await connection.fetch(read.queries.latencies)}
            assert told_latencies
            # A mean has other last digits when its values are added in another order.
            assert kept_latencies == pytest.approx(told_latencies, rel=1e-12)
        bases = await connection.fetch(
            "select target_id, cpu_target_id from cpu_bases where campaign_id = $1", campaign
        )
        assert read.cpu_bases == {row["target_id"]: row["cpu_target_id"] for row in bases}


async def test_every_row_of_a_report_is_what_the_views_say(
    engine: AsyncEngine, two_campaigns: asyncpg.Connection[Any]
) -> None:
    assert await two_campaigns.fetch("select 1 from cpu_bases")
    await require_as_the_views_say(engine, two_campaigns)


async def test_nothing_stays_of_what_is_true_no_more(
    engine: AsyncEngine, two_campaigns: asyncpg.Connection[Any]
) -> None:
    await require_as_the_views_say(engine, two_campaigns)
    # A cause that makes an outcome count otherwise, cases whose latencies go, and a function that falls back now.
    await two_campaigns.execute("update outcomes set cause = 'host_work' where verdict = 'failed' and job_id % 2 = 0")
    await two_campaigns.execute("update outcomes set verdict = 'failed', cause = 'type' where case_id % 9 = 2")
    await two_campaigns.execute("update outcomes set placement = 'fell_back' where case_id % 9 = 4")
    await two_campaigns.execute("update campaign_targets set reclassifications = reclassifications + 1")
    await require_as_the_views_say(engine, two_campaigns)


async def test_a_case_of_two_revisions_is_one_case_for_a_ratio(
    engine: AsyncEngine, two_campaigns: asyncpg.Connection[Any]
) -> None:
    before = [
        await service.contents(engine, campaign, ReportOptions(reference="none"))
        for campaign in range(1, CAMPAIGNS + 1)
    ]
    await two_campaigns.execute(
        "insert into suites (name, framework, revision, digest) values ('paper', 'torch', 'r2', '')"
    )
    await two_campaigns.execute(
        "insert into cases (id, suite_id, name, function, host_only, position, tags)"
        " select id + 1000, 2, name, function, host_only, position, tags from cases where suite_id = 1"
    )
    for table in ("outcomes", "jobs"):
        await two_campaigns.execute(
            f"update {table} t set case_id = copied.id from cases c, cases copied"
            " where c.id = t.case_id and copied.suite_id = 2 and copied.name = c.name and t.target_id = 2"
        )
    await two_campaigns.execute(
        "update campaign_targets set suite_id = case target_id when 2 then 2 else 1 end,"
        " reclassifications = reclassifications + 1"
    )
    await require_as_the_views_say(engine, two_campaigns)
    for campaign, contents in enumerate(before, 1):
        after = await service.contents(engine, campaign, ReportOptions(reference="none"))
        assert after.comparisons == contents.comparisons
        assert any(comparison.functions for comparison in after.comparisons)


async def test_outcomes_that_come_in_are_in_the_next_report(
    engine: AsyncEngine, two_campaigns: asyncpg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This also holds for a campaign whose matrix nobody reads."""
    from coordinator.results import service as matrix

    monkeypatch.setattr(matrix, "SMALL", 1)
    await require_as_the_views_say(engine, two_campaigns)
    await two_campaigns.execute(
        "delete from outcomes where job_id in (select max(job_id) from outcomes group by campaign_id)"
    )
    await two_campaigns.execute(
        "update campaign_targets t set done = (select count(*) from outcomes o"
        " where o.campaign_id = t.campaign_id and o.target_id = t.target_id)"
    )
    await require_as_the_views_say(engine, two_campaigns)
