"""A campaign gets no outcome of other jobs: of other databases, of restored backups, of impostors, or of other clients.

That two databases with one runner do not stop each other's jobs is tested in ``test_two_installations.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import asyncpg

from tests.coordinator_process import CoordinatorProcess
from tests.faults.dispatch.conftest import SECRET, SUITE, scripted_runner, waits_for_another
from tests.runner_process import RunnerProcess
from tests.scripted_runner import Script, case_of
from tests.short_times import SHORT_TIMES
from tests.waiting import until


def fetch(dsn: str, query: str) -> list[Any]:
    async def read() -> list[Any]:
        connection = await asyncpg.connect(dsn)
        rows = await connection.fetch(query)
        await connection.close()
        return list(rows)

    return asyncio.run(read())


def test_a_fresh_database_gets_no_outcome_of_the_one_before(
    coordinator: CoordinatorProcess, runner: RunnerProcess, new_database: Callable[..., str]
) -> None:
    """The runner still has jobs of a coordinator that was killed, and the new database's ids begin at 1 again."""
    first = coordinator.submit("hazards.hang", runs=1, timeout_s=5)
    until(lambda: runner_is_busy(coordinator, first), "a hang runs")
    coordinator.kill()
    other = CoordinatorProcess(new_database(), times=SHORT_TIMES)
    try:
        assert other.register(runner.ready["url"], SECRET).status_code == 201
        campaign = other.submit("hazards.add", runs=3, timeout_s=60)
        other.wait_ended(campaign)
        outcomes = other.outcomes(campaign)
        assert {outcome["function"] for outcome in outcomes} == {"hazards.add"}
        assert Counter(outcome["verdict"] for outcome in outcomes) == {"passed": 9, "failed": 3}
        assert {outcome["cause"] for outcome in outcomes} == {None, "assertion"}
        assert fetch(other.dsn, "SELECT 1 FROM jobs WHERE lease_until IS NOT NULL") == []
    finally:
        other.stop()


def runner_is_busy(coordinator: CoordinatorProcess, campaign: int) -> bool:
    return bool(fetch(coordinator.dsn, f"SELECT 1 FROM jobs WHERE campaign_id = {campaign} AND state = 'running'"))


def test_a_restored_backup_gets_no_outcome_of_what_came_after_it(
    coordinator: CoordinatorProcess, new_database: Callable[..., str]
) -> None:
    """Two databases have a common past, and both send the same job numbers to one runner, for different cases."""
    with scripted_runner(Script(ends=lambda job: False)) as stub:
        assert coordinator.register(stub.url, stub.secret).status_code == 201
        coordinator.kill()
        restored_dsn = new_database(template=coordinator.dsn.rpartition("/")[2])
        coordinator.start()
        coordinator.submit(f"{SUITE}.f1", suite=SUITE, runs=2)
        until(lambda: len(stub.posted) >= 2, "it has the jobs of the database that is lost")
        coordinator.kill()
        lost_jobs = list(stub.posted)
        stub.script.ends = lambda job: True
        stub.script.speaks = False
        other = CoordinatorProcess(restored_dsn, times=SHORT_TIMES)
        try:
            until(lambda: runners(other) == [], "the runner of this machine is the other database's")
            assert other.register(stub.url, stub.secret).status_code == 201
            campaign = until(lambda: try_submit(other), "the runner is online for a moment")
            until(lambda: len(stub.posted) > len(lost_jobs), "it sends its own before it hears of the others")
            stub.script.speaks = True
            until(lambda: waits_for_another(other, campaign), "it is left to the jobs of the lost database")
            until(lambda: stub.deleted, "its own are taken back")
            assert {job.id for job in lost_jobs}.isdisjoint(id for id, _ in stub.deleted)
            for job in lost_jobs:
                stub.cancel(job)
            other.wait_ended(campaign)
            outcomes = other.outcomes(campaign)
            assert [outcome["verdict"] for outcome in outcomes] == ["passed", "passed"]
            logs = fetch(restored_dsn, "SELECT log_tail FROM outcomes")
            assert {case_of(row["log_tail"]) for row in logs} == {f"{SUITE}.f2/0"}
        finally:
            other.stop()
    since = {job.id for job in stub.posted[len(lost_jobs) :]}
    assert since.isdisjoint(job.id for job in lost_jobs), "ids are not used again"


def runners(coordinator: CoordinatorProcess) -> list[Any]:
    return list(coordinator.http.get("/runners").json()["runners"])


def try_submit(coordinator: CoordinatorProcess) -> int | None:
    with contextlib.suppress(AssertionError):
        return coordinator.submit(f"{SUITE}.f2", suite=SUITE, runs=2)
    return None


def test_a_coordinator_that_outlives_a_restore_uses_no_id_again(coordinator: CoordinatorProcess) -> None:
    """The coordinator does not notice the restore, and its runner still has the job that the database has lost."""
    with scripted_runner(Script(ends=lambda job: False)) as stub:
        assert coordinator.register(stub.url, stub.secret).status_code == 201
        campaign = coordinator.submit(f"{SUITE}.f1", suite=SUITE, runs=1)
        until(lambda: runner_is_busy(coordinator, campaign), "it runs")
        stub.script.ends = lambda job: True
        forget_leases(coordinator.dsn)
        coordinator.wait_ended(campaign)
        (outcome,) = coordinator.outcomes(campaign)
    assert (outcome["verdict"], outcome["attempt"]) == ("passed", 1)
    forgotten_job, *since = [(job.id, job.attempt) for job in stub.posted]
    assert since, "the job was given to the runner again"
    assert forgotten_job not in since


def forget_leases(dsn: str) -> None:
    """Set the database back to a state in which jobs were submitted and none was claimed."""

    async def forget() -> None:
        connection = await asyncpg.connect(dsn)
        async with connection.transaction():
            await connection.execute("DELETE FROM attempts")
            await connection.execute(
                "UPDATE jobs SET state = 'queued', attempt = 0, runner_id = NULL, lease_until = NULL, token = NULL"
            )
        await connection.close()

    asyncio.run(forget())


def test_a_runner_cannot_finish_what_another_one_holds(coordinator: CoordinatorProcess) -> None:
    never_ending = Script(ends=lambda job: False)
    with scripted_runner(never_ending, device="one") as holder, scripted_runner(device="two") as impostor:
        for stub in (holder, impostor):
            assert coordinator.register(stub.url, stub.secret).status_code == 201
        campaign = coordinator.submit(f"{SUITE}.f1", suite=SUITE, runs=1, targets=["scripted/one"])
        until(lambda: fetch(coordinator.dsn, "SELECT 1 FROM jobs WHERE state = 'running'"), "it runs")
        (job,) = holder.posted
        impostor.finish(job, verdict="failed", ending="raised")
        other = coordinator.submit(f"{SUITE}.f2", suite=SUITE, runs=1, targets=["scripted/two"])
        coordinator.wait_ended(other)
        assert coordinator.campaign(campaign)["counters"]["done"] == 0
        holder.finish(job)
        coordinator.wait_ended(campaign)
        (outcome,) = coordinator.outcomes(campaign)
        assert outcome["verdict"] == "passed"
        forged_outcomes = "SELECT 1 FROM attempts WHERE late_outcome ->> 'verdict' = 'failed'"
        assert fetch(coordinator.dsn, forged_outcomes) == [], "what the impostor said stands nowhere"


def test_a_second_finish_is_kept_and_shown_and_does_not_count(coordinator: CoordinatorProcess) -> None:
    with scripted_runner(Script(doubles_finishes=8)) as stub:
        assert coordinator.register(stub.url, stub.secret).status_code == 201
        campaign = coordinator.submit("*", suite=SUITE, runs=1)
        coordinator.wait_ended(campaign)
        outcomes = coordinator.outcomes(campaign)
        assert {outcome["verdict"] for outcome in outcomes} == {"passed"}
        until(
            lambda: fetch(coordinator.dsn, "SELECT count(*) FROM attempts WHERE late_outcome IS NOT NULL")[0][0] == 8,
            "every second one is kept",
        )
        page = coordinator.page(f"/campaigns/{campaign}/outcomes/{outcomes[0]['job_id']}")
        assert "a second result arrived, which does not count" in page


def test_what_comes_after_the_end_of_a_stopped_attempt_does_not_count(coordinator: CoordinatorProcess) -> None:
    """Another client stops a job. Its runner reports that, and then sends a result of the same attempt."""
    with scripted_runner(Script(ends=lambda job: job.attempt > 1, doubles_finishes=1)) as stub:
        assert coordinator.register(stub.url, stub.secret).status_code == 201
        campaign = coordinator.submit(f"{SUITE}.f1", suite=SUITE, runs=1)
        until(lambda: runner_is_busy(coordinator, campaign), "it runs")
        stub.cancel(stub.posted[0])
        coordinator.wait_ended(campaign)
        (outcome,) = coordinator.outcomes(campaign)
        assert (outcome["attempt"], outcome["verdict"]) == (2, "passed")
        late_endings = "SELECT late_outcome ->> 'ending' FROM attempts WHERE attempt = 1"
        assert [tuple(row) for row in fetch(coordinator.dsn, late_endings)] == [("cancelled",)]
