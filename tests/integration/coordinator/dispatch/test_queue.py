"""The queue's statements with a real PostgreSQL: what they accept, and what they refuse."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from coordinator.campaigns import store as campaigns
from coordinator.dispatch import finishes, queue
from coordinator.dispatch.finishes import Finish, LateFinish
from coordinator.dispatch.instructions import FELL_SILENT
from coordinator.dispatch.leases import Key
from coordinator.dispatch.queue import Cursor
from coordinator.dispatch.records import record
from coordinator.registry import ownership
from coordinator.registry import store as registry
from protocol.enums import Ending, Placement, Verdict
from protocol.outcomes import Evidence, Outcome, Timing
from tests.integration.coordinator.dispatch.conftest import TOKEN, Place, add_runner, runner_info

PASSED = Outcome(
    verdict=Verdict.passed,
    ending=Ending.returned,
    placement=Placement.on_device,
    duration_s=0.5,
    timing=Timing(cold_ms=2.0, samples_ms=[1.0, 2.0, 3.0], calls_per_sample=7),
)
FAILED = Outcome(verdict=Verdict.failed, ending=Ending.raised, duration_s=0.1).model_copy(
    # What no reader of a message lets through.
    update={
        "evidence": Evidence.model_construct(
            exception="builtins.RuntimeError", message="nul \x00 and lone surrogate \ud800"
        ),
        "log_tail": "\x00\udfff",
    }
)


async def finish(place: Place, keys: list[Key], outcome: Outcome = PASSED, n: int = 1) -> set[int]:
    async with place.engine.begin() as connection:
        accepted_keys, _ = await finishes.finish(
            connection, reports_of(place, keys, outcome), [Cursor(place.runner_id, "boot-1", n)]
        )
    return {key.job for key in accepted_keys}


def reports_of(place: Place, keys: list[Key], outcome: Outcome = PASSED) -> list[Finish]:
    rows = [record(key, outcome, framework="torch", device="cpu") for key in keys]
    return [Finish(row, place.runner_id, key.token) for row, key in zip(rows, keys, strict=True)]


async def rows(place: Place, statement: str, **values: Any) -> list[Any]:
    async with place.engine.connect() as connection:
        return list(await connection.execute(text(statement), values))


async def test_a_claim_takes_the_first_jobs_in_the_order_of_the_catalogue(place: Place) -> None:
    await place.campaign(runs=2)
    first, second = await place.claim(3), await place.claim(2)
    assert [job.case for job in first + second] == [f"torch.cat/{number}" for number in range(5)]
    assert {job.run for job in first} == {1}
    assert {job.key.attempt for job in first} == {1}


async def test_run_one_of_all_cases_goes_before_run_two_of_any(place: Place) -> None:
    await place.campaign(runs=2, cases=3)
    assert [job.run for job in await place.claim()] == [1, 1, 1]
    assert [job.run for job in await place.claim()] == [2, 2, 2]


async def add_slow_target(place: Place, campaign: int) -> int:
    """Give the campaign another target with as many jobs. Returns this target's online runner."""
    async with place.engine.begin() as connection:
        other = runner_info("boot-2").model_copy(update={"device": "xla"})
        slow = await add_runner(connection, other, place.suite_id, url="http://other", secret="")
        target = await registry.store_target(connection, other)
        await connection.execute(
            text("INSERT INTO campaign_targets (campaign_id, target_id, suite_id, total) VALUES (:c, :t, :s, 6)"),
            {"c": campaign, "t": target, "s": place.suite_id},
        )
        await connection.execute(
            text(
                "INSERT INTO jobs (campaign_id, target_id, case_id, run, priority) "
                "SELECT campaign_id, :t, case_id, run, priority FROM jobs WHERE campaign_id = :c"
            ),
            {"c": campaign, "t": target},
        )
    return slow


async def test_a_target_waits_for_the_run_of_the_others_while_they_have_a_live_runner(place: Place) -> None:
    slow = await add_slow_target(place, await place.campaign(runs=2, cases=3))
    assert [job.run for job in await place.claim()] == [1, 1, 1]
    assert await place.claim() == [], "the other target has not begun"
    async with place.engine.begin() as connection:
        await ownership.set_state(connection, slow, "offline", "gone")
    assert [job.run for job in await place.claim()] == [2, 2, 2], "nobody waits for a target without a live runner"


@pytest.mark.parametrize("verdicts_first", [True, False])
@pytest.mark.parametrize("then", ["begun", "offline"])
async def test_nothing_is_timed_while_a_live_runner_has_verdicts_to_begin(
    place: Place, verdicts_first: bool, then: str
) -> None:
    slow = await add_slow_target(place, await place.campaign(runs=2, cases=3, verdicts_first=verdicts_first))
    async with place.engine.begin() as connection:
        slow_runner = await ownership.own(connection, slow, "me")
    assert slow_runner is not None
    theirs = await replace(place, runner_id=slow, target_id=slow_runner.target_id).claim()
    assert [job.run for job in theirs] == [1, 1, 1]
    ours = await place.claim()
    assert [job.run for job in ours] == [1, 1, 1]
    async with place.engine.begin() as connection:
        await queue.start(connection, [(place.runner_id, job.key) for job in ours])
        await queue.start(connection, [(slow, job.key) for job in theirs[:2]])
    # In a campaign whose runs are all alike, what a runner holds is as good as begun.
    assert [job.run for job in await place.claim()] == ([] if verdicts_first else [2, 2, 2])
    async with place.engine.begin() as connection:
        if then == "begun":
            await queue.start(connection, [(slow, theirs[2].key)])
        else:
            await ownership.set_state(connection, slow, "offline", "gone")
    assert [job.run for job in await place.claim()] == ([2, 2, 2] if verdicts_first else [])


async def test_claims_at_the_same_time_never_share_a_job(place: Place) -> None:
    await place.campaign()
    claims = await asyncio.gather(*(place.claim(50) for _ in range(8)))
    jobs = [job.key.job for claim in claims for job in claim]
    assert len(jobs) == len(set(jobs)) == 400


async def test_a_suite_that_the_runner_does_not_serve_is_left_alone(place: Place) -> None:
    await place.campaign()
    async with place.engine.begin() as connection:
        none = await queue.claim(
            connection, runner_id=place.runner_id, boot_id="b", token="t", target_id=place.target_id, suites=[], limit=5
        )
    assert none == []


async def test_an_outcome_is_accepted_once(place: Place) -> None:
    campaign = await place.campaign(cases=1)
    (job,) = await place.claim()
    assert await finish(place, [job.key]) == {job.key.job}
    assert await finish(place, [job.key], FAILED) == set()
    (outcome,) = await rows(place, "SELECT * FROM outcomes")
    assert (outcome.verdict, outcome.steady_ms, outcome.iqr_ms, outcome.samples_ms) == ("passed", 2.0, 1.0, [1, 2, 3])
    (counters,) = await rows(place, "SELECT * FROM campaign_targets")
    assert (counters.done, counters.passed, counters.failed) == (1, 1, 0)
    (state,) = await rows(place, "SELECT state, finished_at FROM campaigns WHERE id = :id", id=campaign)
    assert state.state == "done"


async def test_the_outcome_of_an_earlier_attempt_is_refused_and_kept_as_late(place: Place) -> None:
    await place.campaign(cases=1)
    (first,) = await place.claim()
    async with place.engine.begin() as connection:
        (back,) = await queue.give_back(connection, [first.key], "silent", is_loss=True)
    assert (back.key, back.lost, back.refused) == (first.key, 1, 0)
    (second,) = await place.claim()
    assert second.key == Key(first.key.job, 2, TOKEN)
    assert await finish(place, [first.key]) == set()
    async with place.engine.begin() as connection:
        await finishes.keep_late(connection, [LateFinish(first.key, place.runner_id, "{}")])
    assert await finish(place, [second.key]) == {first.key.job}
    attempts = await rows(place, 'SELECT attempt, "end" FROM attempts ORDER BY attempt')
    assert [(attempt.attempt, attempt.end) for attempt in attempts] == [(1, "late"), (2, "finished")]


async def test_an_outcome_is_accepted_from_its_runner_and_under_its_lease_only(place: Place) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    (row,) = reports_of(place, [job.key])
    async with place.engine.begin() as connection:
        other = await add_runner(connection, runner_info("boot-2"), place.suite_id, url="http://other", secret="")
        for foreign in (row._replace(runner_id=other), row._replace(token="another"), row._replace(token="")):
            assert await finishes.finish(connection, [foreign]) == (set(), [])
            assert await finishes.reclaim(connection, [foreign]) == set()
            await finishes.keep_late(connection, [LateFinish(foreign.key, foreign.runner_id, "{}")])
    assert await rows(place, "SELECT * FROM outcomes") == []
    (attempt,) = await rows(place, 'SELECT "end", late_outcome FROM attempts')
    assert (attempt.end, attempt.late_outcome) == (None, None)
    assert await finish(place, [job.key]) == {job.key.job}


async def test_a_late_report_is_the_outcome_while_no_newer_attempt_has_begun(place: Place) -> None:
    await place.campaign(cases=2)
    jobs = await place.claim()
    async with place.engine.begin() as connection:
        await queue.give_back(connection, [job.key for job in jobs], "silent", is_loss=True)
    again = await place.claim(token="fedcba9876543210")
    async with place.engine.begin() as connection:
        await queue.start(connection, [(place.runner_id, again[1].key)])
        reports = reports_of(place, [job.key for job in jobs])
        assert await finishes.finish(connection, reports) == (set(), [])
        assert await finishes.reclaim(connection, reports) == {jobs[0].key}
        accepted_keys, _ = await finishes.finish(connection, reports)
        assert accepted_keys == {jobs[0].key}
        assert await queue.find_revoked(connection, place.runner_id, [job.key for job in again]) == [again[0].key]
    (outcome,) = await rows(place, "SELECT job_id, attempt FROM outcomes")
    assert (outcome.job_id, outcome.attempt) == (jobs[0].key.job, 1)
    attempts = await rows(place, 'SELECT attempt, "end", reason FROM attempts WHERE job_id = 1 ORDER BY attempt')
    assert [(attempt.end, attempt.reason) for attempt in attempts] == [
        ("finished", "silent"),
        ("lost", "an earlier attempt reported after all"),
    ]


async def test_a_runner_that_was_silent_comes_back_with_what_nobody_else_has_had(place: Place) -> None:
    await place.campaign(cases=3)
    running, waiting, other_job = await place.claim()
    async with place.engine.begin() as connection:
        await queue.start(connection, [(place.runner_id, running.key)])
        await queue.give_back(connection, [running.key, other_job.key], "silent", is_loss=True)
        await queue.give_back(connection, [waiting.key], FELL_SILENT, is_loss=False)
        await connection.execute(text("UPDATE jobs SET attempt = 2, state = 'leased' WHERE id = :id"), {"id": 3})
        await queue.welcome_back(connection, place.runner_id, "another boot")
        assert await queue.leased_jobs(connection, place.runner_id) == []
        await queue.welcome_back(connection, place.runner_id, "boot-1")
        leased = await queue.leased_jobs(connection, place.runner_id)
    assert [(job.key, job.running) for job in leased] == [(running.key, True), (waiting.key, False)]
    assert await finish(place, [running.key, waiting.key]) == {1, 2}


@pytest.mark.parametrize(("ran_s", "losses"), [(1, 0), (3600, 1)])
async def test_a_silence_counts_only_past_the_time_limit_of_the_case(place: Place, ran_s: int, losses: int) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    async with place.engine.begin() as connection:
        await queue.start(connection, [(place.runner_id, job.key)])
        await connection.execute(
            text("UPDATE attempts SET started_at = now() - make_interval(secs => :ran_s)"), {"ran_s": ran_s}
        )
        await queue.give_back(connection, [job.key], "silent", is_loss=True)
        await queue.welcome_back(connection, place.runner_id, "boot-1")
    (row,) = await rows(place, "SELECT lost FROM jobs")
    assert row.lost == losses


async def test_what_a_runner_lost_otherwise_it_does_not_get_back(place: Place) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    async with place.engine.begin() as connection:
        await queue.give_back(connection, [job.key], "restarted", is_loss=True)
        await queue.welcome_back(connection, place.runner_id, "boot-1")
        assert await queue.leased_jobs(connection, place.runner_id) == []


async def test_a_runner_does_not_come_back_with_an_attempt_after_which_another_began(place: Place) -> None:
    await place.campaign(cases=1)
    (first,) = await place.claim()
    async with place.engine.begin() as connection:
        await queue.give_back(connection, [first.key], "silent", is_loss=True)
        other = await add_runner(connection, runner_info("boot-2"), place.suite_id, url="http://other", secret="")
    (second,) = await place.claim(token="fedcba9876543210")
    async with place.engine.begin() as connection:
        await connection.execute(text("UPDATE attempts SET runner_id = :id WHERE attempt = 2"), {"id": other})
        await queue.give_back(connection, [second.key], "silent", is_loss=True)
        await queue.welcome_back(connection, place.runner_id, "boot-1")
        assert await queue.leased_jobs(connection, place.runner_id) == []


async def test_a_cancelled_job_takes_no_outcome(place: Place) -> None:
    campaign = await place.campaign(cases=2)
    jobs = await place.claim(1)
    async with place.engine.begin() as connection:
        assert await campaigns.cancel(connection, campaign)
    assert await finish(place, [job.key for job in jobs]) == set()
    assert await place.claim() == []
    async with place.engine.connect() as connection:
        assert await queue.find_revoked(connection, place.runner_id, [jobs[0].key]) == [jobs[0].key]
    (counters,) = await rows(place, "SELECT * FROM campaign_targets")
    assert (counters.done, counters.cancelled, counters.total) == (0, 2, 2)


async def test_the_cursor_moves_with_the_outcomes_and_never_back(place: Place) -> None:
    await place.campaign(cases=2)
    first, second = await place.claim()
    await finish(place, [first.key], n=8)
    await finish(place, [second.key], n=5)
    (runner,) = await rows(place, "SELECT cursor FROM runners")
    assert runner.cursor == 8


async def test_text_that_postgresql_refuses_is_stored_replaced(place: Place) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    await finish(place, [job.key], FAILED)
    (row,) = await rows(place, "SELECT message, verdict FROM outcome_rows")
    assert row.message == "nul \ufffd and lone surrogate \ufffd"


async def test_only_attempts_that_started_count_as_lost(place: Place) -> None:
    await place.campaign(cases=1)
    (job,) = await place.claim()
    async with place.engine.begin() as connection:
        await queue.give_back(connection, [job.key], "the runner restarted", is_loss=False)
        assert await queue.lost_attempts(connection, job.key.job) == []
    (job,) = await place.claim()
    async with place.engine.begin() as connection:
        await queue.give_back(connection, [job.key], "restarted", is_loss=True)
        assert [reason for reason, *_ in await queue.lost_attempts(connection, job.key.job)] == ["restarted"]


async def test_a_removed_runner_gives_its_jobs_back(place: Place) -> None:
    await place.campaign(cases=2)
    await place.claim(1)
    async with place.engine.begin() as connection:
        assert await registry.remove_runner(connection, place.runner_id)
        assert not await registry.remove_runner(connection, place.runner_id)
    assert {row.state for row in await rows(place, "SELECT state FROM jobs")} == {"queued"}


@pytest.mark.parametrize("statement", ["_FINISH", "_START", "_GIVE_BACK", "_RECLAIM"])
async def test_jobs_are_looked_up_by_id_even_when_statistics_say_that_none_runs(place: Place, statement: str) -> None:
    """With old statistics, PostgreSQL would scan every dead entry for a plain condition on the state."""
    await place.campaign(runs=20)
    async with place.engine.begin() as connection:
        await connection.execute(text("UPDATE jobs SET state = 'done'"))
    async with place.engine.connect() as connection:
        await (await connection.execution_options(isolation_level="AUTOCOMMIT")).execute(text("ANALYZE jobs"))
    async with place.engine.begin() as connection:
        await connection.execute(text("UPDATE jobs SET state = 'queued'"))
        await connection.execute(text("UPDATE jobs SET state = 'running'"))
        keys = [Key(job, 1, TOKEN) for job in range(1, 201)]
        plan = await explain(connection, statement, keys)
    accesses = [node for node in walk(plan) if node.get("Relation Name") == "jobs"]
    assert accesses
    for node in accesses:
        assert node["Node Type"] in ("Index Scan", "Bitmap Heap Scan", "ModifyTable"), node
        assert "state" not in str(node.get("Index Name", "")), node
        if node["Node Type"] == "Index Scan":
            assert node["Index Name"] == "pk_jobs", node


async def explain(connection: Any, statement: str, keys: list[Key]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "job": [key.job for key in keys],
        "attempt": [key.attempt for key in keys],
        "token": [key.token for key in keys],
    }
    if statement == "_GIVE_BACK":
        values |= {"reason": "silent", "counted": 1, "refused": 0}
    if statement in ("_START", "_RECLAIM"):
        values |= {"runner": [1] * len(keys)}
    if statement == "_FINISH":
        rows = [record(key, PASSED, framework="torch", device="cpu") for key in keys]
        values = {name: [getattr(row, name) for row in rows] for name in finishes.COLUMNS}
        values |= {"f_runner": [1] * len(keys), "f_token": [TOKEN] * len(keys)}
        values |= {"c_runner": [1], "c_boot": ["boot-1"], "c_n": [1]}
    answer = await connection.execute(
        text(f"EXPLAIN (FORMAT JSON) {getattr(finishes if hasattr(finishes, statement) else queue, statement).text}"),
        values,
    )
    return answer.scalar_one()[0]["Plan"]


def walk(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(descendant for child in node.get("Plans", []) for descendant in walk(child))]
