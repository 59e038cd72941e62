"""If a process is killed during a campaign, no outcome is lost and none is stored twice."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from coordinator.configuration.times import Times
from coordinator.database.embedded import EmbeddedPostgres
from coordinator.migration import upgrade
from tests.coordinator_process import CoordinatorProcess
from tests.faults.dispatch.conftest import SECRET
from tests.runner_process import RunnerProcess
from tests.short_times import IMPATIENT_TIMES, SHORT_TIMES
from tests.waiting import LIMIT_S, until

RUNS = 10
"""Naps of 0.2 s, which is longer than a busy machine takes to send a signal."""


def cursor(dsn: str) -> int:
    """The number of the last stored event of the only runner."""

    async def read() -> int:
        connection = await asyncpg.connect(dsn)
        n: int = await connection.fetchval("SELECT cursor FROM runners")
        await connection.close()
        return n

    return asyncio.run(read())


def naps(dsn: str) -> bool:
    """Whether the runner is known to run a nap."""

    async def read() -> bool:
        connection = await asyncpg.connect(dsn)
        is_napping: bool = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM attempts JOIN jobs ON jobs.id = job_id JOIN cases ON cases.id = case_id"
            " WHERE function = 'hazards.nap' AND started_at IS NOT NULL AND ended_at IS NULL)"
        )
        await connection.close()
        return is_napping

    return asyncio.run(read())


def silences(dsn: str) -> int:
    """The number of counted losses of jobs that had begun."""

    async def read() -> int:
        connection = await asyncpg.connect(dsn)
        lost_count: int = await connection.fetchval("SELECT sum(lost) FROM jobs")
        await connection.close()
        return lost_count

    return asyncio.run(read())


def attempts(dsn: str) -> Counter[tuple[str, str | None]]:
    """The endings of the attempts and their reasons, with counts."""

    async def read() -> list[Any]:
        connection = await asyncpg.connect(dsn)
        rows = await connection.fetch('SELECT "end", reason FROM attempts')
        await connection.close()
        return list(rows)

    return Counter((row["end"], row["reason"]) for row in asyncio.run(read()))


def one_outcome_each(coordinator: CoordinatorProcess, campaign: int) -> list[dict[str, Any]]:
    """The campaign's outcomes. Asserts that every job has exactly one outcome, and that the counters are right."""
    final_state = coordinator.wait_ended(campaign)
    outcomes = coordinator.outcomes(campaign)
    jobs = Counter((outcome["case"], outcome["run"]) for outcome in outcomes)
    assert set(jobs.values()) == {1}
    assert len(outcomes) == final_state["counters"]["total"] == final_state["counters"]["done"]
    verdicts = Counter(outcome["verdict"] for outcome in outcomes)
    assert {name: final_state["counters"][name] for name in verdicts} == dict(verdicts)
    return outcomes


def test_coordinator_killed_and_restarted(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    campaign = coordinator.submit("hazards.nap", "hazards.add", runs=RUNS)
    for job_count in (3, 20):
        coordinator.wait_done(campaign, job_count)
        coordinator.kill()
        coordinator.start()
    outcomes = one_outcome_each(coordinator, campaign)
    assert Counter(outcome["cause"] for outcome in outcomes) == {None: 4 * RUNS, "assertion": RUNS}
    assert attempts(coordinator.dsn) == {("finished", None): 5 * RUNS}, "the runner worked on; nothing ran twice"


def test_runner_killed_and_restarted(
    coordinator: CoordinatorProcess, runner: RunnerProcess, start_runner: Callable[..., RunnerProcess]
) -> None:
    campaign = coordinator.submit("hazards.nap", "hazards.add", runs=RUNS)
    coordinator.wait_done(campaign, 3)
    until(lambda: naps(coordinator.dsn), "it naps")
    runner.process.kill()
    runner.process.wait(LIMIT_S)
    again = start_runner()
    assert again.info.boot_id != runner.info.boot_id
    outcomes = one_outcome_each(coordinator, campaign)
    assert Counter(outcome["verdict"] for outcome in outcomes) == {"passed": 4 * RUNS, "failed": RUNS}
    attempt_ends = attempts(coordinator.dsn)
    assert attempt_ends["finished", None] == 5 * RUNS
    assert attempt_ends["lost", "restarted"] == 1, "only what ran counts; what waited went back uncounted"


def test_both_killed_at_once(
    coordinator: CoordinatorProcess, runner: RunnerProcess, start_runner: Callable[..., RunnerProcess]
) -> None:
    campaign = coordinator.submit("hazards.nap", "hazards.add", runs=RUNS)
    coordinator.wait_done(campaign, 3)
    coordinator.kill()
    runner.process.kill()
    runner.process.wait(LIMIT_S)
    start_runner()
    coordinator.start()
    one_outcome_each(coordinator, campaign)


def test_database_stopped_and_started(place: Path, start_runner: Callable[..., RunnerProcess]) -> None:
    postgres = EmbeddedPostgres(place / "postgres")
    dsn = postgres.start()
    asyncio.run(upgrade(dsn))
    coordinator = CoordinatorProcess(dsn, times=SHORT_TIMES)
    try:
        runner = start_runner()
        assert coordinator.register(runner.ready["url"], SECRET).status_code == 201
        campaign = coordinator.submit("hazards.nap", "hazards.add", runs=RUNS)
        coordinator.wait_done(campaign, 3)
        postgres.stop()
        assert coordinator.http.get("/campaigns").status_code == 503
        assert postgres.start() == dsn
        one_outcome_each(coordinator, campaign)
    finally:
        coordinator.stop()
        postgres.stop()


def test_two_coordinators_share_one_database(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    other = CoordinatorProcess(coordinator.dsn, times=SHORT_TIMES)
    try:
        campaign = other.submit("hazards.nap", "hazards.add", runs=RUNS)
        other.wait_done(campaign, 3)
        one_outcome_each(other, campaign)
    finally:
        other.stop()


def test_a_cancelled_campaign_stops_what_runs(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    campaign = coordinator.submit("hazards.hang", runs=1)
    answer = coordinator.http.post(f"/campaigns/{campaign}/cancel")
    assert answer.status_code == 200
    assert coordinator.campaign(campaign)["counters"]["cancelled"] == 3
    following = coordinator.submit("hazards.add", runs=1)
    assert len(one_outcome_each(coordinator, following)) == 4
    assert coordinator.outcomes(campaign) == []


def test_a_hang_is_a_timeout_and_the_next_job_runs(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    campaign = coordinator.submit("hazards.hang_holding_the_gil", "hazards.add", runs=1, timeout_s=4.0)
    outcomes = one_outcome_each(coordinator, campaign)
    (hung,) = [outcome for outcome in outcomes if outcome["function"] == "hazards.hang_holding_the_gil"]
    assert (hung["verdict"], hung["cause"]) == ("failed", "timeout")
    assert Counter(outcome["verdict"] for outcome in outcomes) == {"passed": 3, "failed": 2}


def test_a_removed_runner_takes_no_more_jobs(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    (runner_row,) = coordinator.http.get("/runners").json()["runners"]
    assert coordinator.http.delete(f"/runners/{runner_row['id']}").status_code == 204
    answer = coordinator.http.post("/campaigns", json={"suite": "hazards"})
    assert answer.status_code == 422
    assert "matches no live runner" in answer.json()["detail"]


def test_a_runner_whose_events_somebody_else_acknowledged_serves_on(
    coordinator: CoordinatorProcess, start_runner: Callable[..., RunnerProcess]
) -> None:
    runner = start_runner()
    runner.run("add/0")
    assert coordinator.register(runner.ready["url"], SECRET).status_code == 201
    states = []
    until(
        lambda: states.append(only_runner(coordinator)["state"]) or cursor(coordinator.dsn), "what is lost is skipped"
    )
    one_outcome_each(coordinator, coordinator.submit("hazards.add", runs=1))
    assert {*states, only_runner(coordinator)["state"]} == {"online"}, "a campaign submitted at once found it"


def test_what_somebody_else_acknowledged_in_mid_campaign_is_run_again(
    coordinator: CoordinatorProcess, runner: RunnerProcess
) -> None:
    campaign = coordinator.submit("hazards.nap", runs=RUNS)
    coordinator.wait_done(campaign, 1)
    coordinator.kill()
    after = cursor(coordinator.dsn)
    with runner.stream(after=after) as events:
        unread = next(event for event in events if event.type == "finished")
    runner.acknowledge(unread.n)
    coordinator.start()
    one_outcome_each(coordinator, campaign)
    attempt_ends = attempts(coordinator.dsn)
    assert sum(attempt_ends.values()) > attempt_ends["finished", None], (
        "an attempt whose end nobody can tell is made again"
    )


@pytest.mark.parametrize("times", [IMPATIENT_TIMES], ids=["impatient"])
def test_a_runner_that_falls_silent_loses_its_attempts_and_gets_them_back(
    coordinator: CoordinatorProcess, runner: RunnerProcess, times: Times
) -> None:
    campaign = coordinator.submit("hazards.nap", "hazards.add", runs=RUNS)
    coordinator.wait_done(campaign, 3)
    runner.process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: only_runner(coordinator)["state"] == "quarantined", "the silent runner is quarantined")
        runner_row = only_runner(coordinator)
        assert f"silent for {times.silence_s:g} s" in runner_row["reason"]
        assert runner_row["in_flight"] == 0, "what it held is back in the queue"
    finally:
        runner.process.send_signal(signal.SIGCONT)
    one_outcome_each(coordinator, campaign)
    attempt_ends = attempts(coordinator.dsn)
    assert sum(count for (end, _), count in attempt_ends.items() if end == "finished") == 5 * RUNS
    assert {end for end, _ in attempt_ends} <= {"finished", "lost", "late"}
    assert silences(coordinator.dsn) == 0, "a silence within the time limit, then back: no loss"


def only_runner(coordinator: CoordinatorProcess) -> dict[str, Any]:
    (runner,) = coordinator.http.get("/runners").json()["runners"]
    return dict(runner)
