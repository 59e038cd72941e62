"""The outcome writer with a real PostgreSQL: no report of a runner can stop it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
from sqlalchemy import text

from coordinator.configuration.times import Times
from coordinator.dispatch import outcome_writer, queue
from coordinator.dispatch.leases import Key
from coordinator.dispatch.outcome_writer import OutcomeWriter, RunnerReport
from coordinator.dispatch.queue import Cursor
from coordinator.dispatch.records import record
from protocol.enums import Ending, Verdict
from protocol.outcomes import Outcome, Timing
from tests.integration.coordinator.dispatch.conftest import Place, add_runner, runner_info
from tests.integration.coordinator.dispatch.test_queue import PASSED
from tests.waiting import async_until


async def test_an_outcome_that_cannot_be_stored_harms_no_other(place: Place) -> None:
    await place.campaign(cases=5)
    jobs = await place.claim()
    absurd = Outcome(
        verdict=Verdict.passed, ending=Ending.returned, duration_s=1, timing=Timing.model_construct(position=2**70)
    )
    all_stored = asyncio.Event()

    def note_cursor(cursor: Cursor) -> None:
        if cursor.n == 5:
            all_stored.set()

    async with running(OutcomeWriter(place.engine, lambda campaigns: None)) as writer:
        reports = []
        for n, job in enumerate(jobs, start=1):
            outcome = absurd if n == 3 else PASSED
            row = record(job.key, outcome, framework="torch", device="cpu")
            reports.append(RunnerReport(Cursor(place.runner_id, "boot-1", n), job.key, row, outcome, note_cursor))
        await writer.write(reports)
        async with asyncio.timeout(60):
            await all_stored.wait()
    async with place.engine.connect() as connection:
        rows = (await connection.execute(text("SELECT verdict, cause, rule FROM outcomes ORDER BY job_id"))).all()
    assert [row.verdict for row in rows] == ["passed", "passed", "incomplete", "passed", "passed"]
    assert (rows[2].cause, rows[2].rule) == ("infrastructure", "unstorable")


async def test_what_waits_is_stored_when_the_outcome_writer_is_stopped(place: Place) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    async with running(OutcomeWriter(place.engine, lambda campaigns: None)) as writer:
        row = record(job.key, PASSED, framework="torch", device="cpu")
        await writer.write(
            [RunnerReport(Cursor(place.runner_id, "boot-1", 1), job.key, row, PASSED, lambda cursor: None)]
        )
    async with place.engine.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM outcomes"))).scalar_one() == 1


@asynccontextmanager
async def running(writer: OutcomeWriter) -> AsyncIterator[OutcomeWriter]:
    """A running writer. At the end it is stopped, which stores the waiting reports."""
    work = asyncio.create_task(writer.run())
    await asyncio.sleep(0)
    try:
        yield writer
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work


async def store(place: Place, *reports: RunnerReport) -> None:
    """Let a writer store these reports in one batch."""
    async with running(OutcomeWriter(place.engine, lambda campaigns: None)) as writer:
        await writer.write(reports)


def report(place: Place, key: Key, n: int, outcome: Outcome = PASSED) -> RunnerReport:
    row = record(key, outcome, framework="torch", device="cpu")
    return RunnerReport(Cursor(place.runner_id, "boot-1", n), key, row, outcome, lambda cursor: None)


WRONG = Outcome(verdict=Verdict.failed, ending=Ending.mismatched, duration_s=9.0)


@pytest.mark.parametrize("together", [True, False], ids=["in one batch", "one after the other"])
async def test_of_two_finishes_the_first_counts_and_the_second_is_kept(place: Place, together: bool) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    reports = [report(place, job.key, 1), report(place, job.key, 2, WRONG)]
    for batch in [reports] if together else [[reports[0]], [reports[1]]]:
        await store(place, *batch)
    async with place.engine.connect() as connection:
        (outcome,) = (await connection.execute(text("SELECT verdict FROM outcomes"))).all()
        (attempt,) = (await connection.execute(text('SELECT "end", late_outcome FROM attempts'))).all()
    assert outcome.verdict == "passed"
    assert attempt.end == "finished"
    assert attempt.late_outcome["ending"] == "mismatched"


@pytest.mark.parametrize("together", [True, False], ids=["in one batch", "one after the other"])
async def test_what_follows_a_late_finish_is_no_first_one(place: Place, together: bool) -> None:
    """A stopped attempt that was given up has reported its end. When the stream is opened again, it brings another
    end."""
    await place.campaign(cases=1)
    (job,) = await place.claim()
    async with place.engine.begin() as connection:
        await queue.give_back(connection, [job.key], "silent", is_loss=True)
    stop = report(place, job.key, 1, Outcome(verdict=Verdict.incomplete, ending=Ending.cancelled, duration_s=1.0))
    reports = [stop._replace(row=None, late=True), report(place, job.key, 2)]
    for batch in [reports] if together else [[reports[0]], [reports[1]]]:
        await store(place, *batch)
    async with place.engine.connect() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM outcomes"))).scalar_one() == 0
        (attempt,) = (await connection.execute(text('SELECT "end", late_outcome FROM attempts'))).all()
    assert (attempt.end, attempt.late_outcome["ending"]) == ("late", "cancelled")


@pytest.mark.parametrize("position", [0, 1], ids=["before", "after"])
async def test_a_finish_that_another_runner_reports_in_the_same_batch_counts_nothing(
    place: Place, position: int
) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    stranger = await add_stranger(place)
    reports = [report(place, job.key, 1)]
    reports.insert(position, report(replace(place, runner_id=stranger), job.key, 1, WRONG))
    await store(place, *reports)
    async with place.engine.connect() as connection:
        (outcome,) = (await connection.execute(text("SELECT verdict, runner_id FROM outcomes"))).all()
        (attempt,) = (await connection.execute(text('SELECT "end", late_outcome FROM attempts'))).all()
        (target,) = (await connection.execute(text("SELECT done, passed, failed FROM campaign_targets"))).all()
    assert (outcome.verdict, outcome.runner_id) == ("passed", place.runner_id)
    assert (attempt.end, attempt.late_outcome) == ("finished", None)
    assert tuple(target) == (1, 1, 0)


async def test_a_start_that_another_runner_reports_changes_nothing(place: Place) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    stranger = await add_stranger(place)
    start = RunnerReport(Cursor(stranger, "boot-1", 1), job.key, None, None, lambda cursor: None)
    await store(place, start)
    async with place.engine.connect() as connection:
        (row,) = (
            await connection.execute(text("SELECT state, started_at FROM jobs JOIN attempts ON id = job_id"))
        ).all()
    assert (row.state, row.started_at) == ("leased", None)


async def test_a_finish_of_the_lost_attempt_beside_that_of_the_newer_one_is_kept_as_late(place: Place) -> None:
    await place.campaign(cases=1)
    (first,) = await place.claim()
    async with place.engine.begin() as connection:
        await queue.give_back(connection, [first.key], "silent", is_loss=True)
    (second,) = await place.claim(token="fedcba9876543210")
    await store(place, report(place, first.key, 1, WRONG), report(place, second.key, 2))
    async with place.engine.connect() as connection:
        (outcome,) = (await connection.execute(text("SELECT verdict, attempt FROM outcomes"))).all()
        attempts = (await connection.execute(text('SELECT "end" FROM attempts ORDER BY attempt'))).scalars().all()
    assert (outcome.verdict, outcome.attempt) == ("passed", 2)
    assert attempts == ["late", "finished"]


async def add_stranger(place: Place) -> int:
    """Register another runner, which has none of the jobs. Returns its id."""
    async with place.engine.begin() as connection:
        return await add_runner(connection, runner_info("boot-2"), place.suite_id, url="http://other", secret="")


async def test_what_a_broken_stream_repeats_is_no_second_finish(place: Place) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    writer = OutcomeWriter(place.engine, lambda campaigns: None)
    await writer.write([report(place, job.key, 1)])
    writer.resume(Cursor(place.runner_id, "boot-1", 0))
    await writer.write([report(place, job.key, 1)])
    async with running(writer):
        pass
    async with place.engine.connect() as connection:
        (attempt,) = (await connection.execute(text('SELECT "end", late_outcome FROM attempts'))).all()
    assert (attempt.end, attempt.late_outcome) == ("finished", None)


@pytest.mark.parametrize(
    ("cursors", "stored"),
    [([("boot-1", 5), ("boot-2", 1)], ("boot-2", 1)), ([("boot-2", 2), ("boot-2", 1)], ("boot-2", 2))],
    ids=["a runner that began anew", "an older report behind a newer"],
)
async def test_of_the_reports_of_a_batch_the_furthest_is_the_runners_place(
    place: Place, cursors: list[tuple[str, int]], stored: tuple[str, int]
) -> None:
    await place.campaign(cases=2)
    jobs = await place.claim()
    reports = [
        report(place, job.key, n)._replace(cursor=Cursor(place.runner_id, boot_id, n))
        for job, (boot_id, n) in zip(jobs, cursors, strict=True)
    ]
    async with place.engine.begin() as connection:
        await connection.execute(text("UPDATE runners SET boot_id = :boot_id, cursor = 0"), {"boot_id": stored[0]})
    await store(place, *reports)
    async with place.engine.connect() as connection:
        (runner,) = (await connection.execute(text("SELECT boot_id, cursor FROM runners"))).all()
    assert (runner.boot_id, runner.cursor) == stored


async def test_a_database_that_went_back_is_told_again(place: Place) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    async with running(OutcomeWriter(place.engine, lambda campaigns: None)) as writer:
        await writer.write([report(place, job.key, 7)])
        await until_stored(place, 7)
        async with place.owner.begin() as connection:
            await connection.execute(text("DELETE FROM outcomes"))
            await connection.execute(text("UPDATE jobs SET state = 'running', lease_until = now()"))
            await connection.execute(text("UPDATE runners SET cursor = 0"))
        writer.resume(Cursor(place.runner_id, "boot-1", 0))
        await writer.write([report(place, job.key, 7)])
        await until_stored(place, 7)


async def until_stored(place: Place, n: int) -> None:
    async def is_stored() -> bool:
        async with place.engine.connect() as connection:
            return bool((await connection.execute(text("SELECT cursor FROM runners"))).scalar_one() == n)

    await async_until(is_stored, f"event {n} is stored")


@asynccontextmanager
async def while_one_waits(place: Place) -> AsyncIterator[tuple[OutcomeWriter, RunnerReport]]:
    """A writer that has stored one report, has a second that can wait for minutes, and has a third to write."""
    await place.campaign(cases=3)
    first, second, third = (report(place, job.key, n) for n, job in enumerate(await place.claim(), start=1))
    async with running(OutcomeWriter(place.engine, lambda campaigns: None, times=Times(store_apart_s=120.0))) as writer:
        await writer.write([first], can_wait=True)
        await until_stored(place, 1)
        await writer.write([second], can_wait=True)
        yield writer, third


async def test_reports_that_can_wait_are_stored_with_those_that_follow_and_the_first_waits_for_none(
    place: Place,
) -> None:
    async with while_one_waits(place) as (writer, third):
        async with place.engine.connect() as connection:
            for _ in range(20):
                assert (await connection.execute(text("SELECT cursor FROM runners"))).scalar_one() == 1
        await writer.write([third])
        await until_stored(place, 3)


async def test_a_full_batch_waits_for_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_writer, "BATCH", 2)
    async with while_one_waits(place) as (writer, third):
        await writer.write([third], can_wait=True)
        await until_stored(place, 3)


async def test_the_start_of_a_newer_attempt_beside_the_end_of_the_older_keeps_it_the_outcome(place: Place) -> None:
    """A runner that was silent during a case ends the case and begins it again at the same time."""
    await place.campaign(cases=1)
    (job,) = await place.claim()
    async with place.engine.begin() as connection:
        await queue.give_back(connection, [job.key], "silent", is_loss=True)
    (again,) = await place.claim()
    later_start = RunnerReport(Cursor(place.runner_id, "boot-1", 2), again.key, None, None, lambda cursor: None)
    await store(place, report(place, job.key, 1), later_start)
    async with place.engine.connect() as connection:
        (outcome,) = (await connection.execute(text("SELECT attempt FROM outcomes"))).all()
    assert outcome.attempt == 1
