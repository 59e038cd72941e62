"""The finisher against a real PostgreSQL: nothing that a runner says can stop it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from sqlalchemy import text

from coordinator.dispatch.finisher import Finisher, Report
from coordinator.dispatch.queue import Cursor
from coordinator.outcomes.records import record
from protocol.outcomes import Outcome, Timing
from protocol.words import Ending, Verdict
from tests.integration.dispatch.conftest import Place
from tests.integration.dispatch.test_queue import PASSED


async def test_an_outcome_that_cannot_be_stored_harms_no_other(place: Place) -> None:
    await place.campaign(cases=5)
    jobs = await place.claim()
    absurd = Outcome(
        verdict=Verdict.passed, ending=Ending.returned, duration_s=1, timing=Timing.model_construct(position=2**70)
    )
    all_stored = asyncio.Event()

    def stored(cursor: Cursor) -> None:
        if cursor.n == 5:
            all_stored.set()

    finisher = Finisher(place.engine, lambda campaigns: None)
    running = asyncio.create_task(finisher.run())
    reports = []
    for n, job in enumerate(jobs, start=1):
        outcome = absurd if n == 3 else PASSED
        row = record(job.key, outcome, framework="torch", device="cpu")
        reports.append(Report(Cursor(place.runner_id, "boot-1", n), job.key, row, outcome, stored))
    await finisher.put(reports)
    async with asyncio.timeout(60):
        await all_stored.wait()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    async with place.engine.connect() as connection:
        rows = (await connection.execute(text("SELECT verdict, cause, rule FROM outcomes ORDER BY job_id"))).all()
    assert [row.verdict for row in rows] == ["passed", "passed", "incomplete", "passed", "passed"]
    assert (rows[2].cause, rows[2].rule) == ("infrastructure", "unstorable")


async def test_what_waits_is_stored_when_the_finisher_is_stopped(place: Place) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    finisher = Finisher(place.engine, lambda campaigns: None)
    running = asyncio.create_task(finisher.run())
    await asyncio.sleep(0)
    row = record(job.key, PASSED, framework="torch", device="cpu")
    await finisher.put([Report(Cursor(place.runner_id, "boot-1", 1), job.key, row, PASSED, lambda cursor: None)])
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    async with place.engine.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM outcomes"))).scalar_one() == 1
