"""Every wait has an end: for jobs that never begin, never end, are always refused, or are reported late."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import asyncpg
import httpx
import pytest

from coordinator.app import create_app
from coordinator.configuration.settings import Settings
from coordinator.dispatch.lost_attempts import MOST
from protocol.jobs import JobStatus
from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.faults.dispatch.conftest import SUITE, scripted_runner
from tests.scripted_runner import Job, Script, ScriptedRunner
from tests.short_times import IMPATIENT_TIMES
from tests.waiting import async_until
from tests.waiting import until as sync_until

ENDS_WITHIN_S = 120.0
TIMES = replace(IMPATIENT_TIMES, start_s=2.0, absent_s=2.0, answer_s=3.0, quarantine_s=0.3, sweep_s=0.5)
"""The times for these tests. Some runners never begin a job, and the coordinator must give it up."""


@pytest.fixture
async def api(database: str) -> AsyncIterator[httpx.AsyncClient]:
    """The coordinator, in this process."""
    app = create_app(Settings(database, admin_token=ADMIN_TOKEN, times=TIMES))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost/api/v1", headers=AS_ADMIN
        ) as client:
            yield client


async def submit(api: httpx.AsyncClient, stub: ScriptedRunner, **fields: Any) -> int:
    registration = await api.post("/runners", json={"url": stub.url, "secret": stub.secret})
    assert registration.status_code == 201, registration.text
    answer = await api.post("/campaigns", json={"suite": SUITE, "runs": 1, "timing": "off", "timeout_s": 2} | fields)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


async def until(api: httpx.AsyncClient, campaign: int, holds: Callable[[dict[str, Any]], bool]) -> None:
    async def is_so() -> bool:
        return holds((await api.get(f"/campaigns/{campaign}")).json())

    await async_until(is_so, "the campaign is as it should be", ENDS_WITHIN_S)


async def wait_outcomes(api: httpx.AsyncClient, campaign: int) -> list[dict[str, Any]]:
    await until(api, campaign, lambda campaign: campaign["state"] != "running")
    outcomes = (await api.get(f"/campaigns/{campaign}/outcomes")).json()["outcomes"]
    return list(outcomes)


async def runner(api: httpx.AsyncClient) -> dict[str, Any]:
    (row,) = (await api.get("/runners")).json()["runners"]
    return dict(row)


def is_bad(job: Job) -> bool:
    return job.case == f"{SUITE}.f3/0"


async def test_a_job_that_is_taken_and_never_begun_is_given_up(api: httpx.AsyncClient) -> None:
    with scripted_runner(Script(begins=lambda job: not is_bad(job))) as stub:
        outcomes = await wait_outcomes(api, await submit(api, stub))
        by_case = {outcome["case"]: outcome for outcome in outcomes}
        given_up = by_case.pop(f"{SUITE}.f3/0")
        assert (given_up["verdict"], given_up["cause"], given_up["rule"]) == (
            "incomplete",
            "infrastructure",
            "never-begun",
        )
        # An attempt that went back as its session ended, on a busy machine, is none of these.
        assert "no runner ran the job, 3 times" in given_up["said"]
        assert {outcome["verdict"] for outcome in by_case.values()} == {"passed"}
        assert "started none" in (await runner(api))["reason"] or (await runner(api))["state"] == "online"


@pytest.mark.parametrize("status", ["unknown_case", "stale_attempt", "other_case", "full"])
async def test_a_job_that_is_refused_for_ever_is_given_up(
    api: httpx.AsyncClient, status: str, caplog: pytest.LogCaptureFixture
) -> None:
    with scripted_runner(Script(receipt=JobStatus(status))) as stub:
        outcomes = await wait_outcomes(api, await submit(api, stub, functions=[f"{SUITE}.f3"]))
        assert [(outcome["cause"], outcome["rule"]) for outcome in outcomes] == [("infrastructure", "never-begun")]
        assert outcomes[0]["attempt"] < 100
        # The quarantine may be over by now: it lasts 0.3 s here.
        assert any("quarantined" in line and status in line for line in caplog.messages)


async def test_a_job_whose_elapsed_time_stands_still_is_a_timeout(api: httpx.AsyncClient) -> None:
    """The runner neither stops the job nor reacts to DELETE, and reports in every heartbeat that the job has just
    begun."""
    with scripted_runner(Script(ends=lambda job: not is_bad(job), kills=False, elapsed=lambda elapsed_s: 0.0)) as stub:
        campaign = await submit(api, stub)
        await until_done(api, campaign, 4)
        (hung,) = [row for row in (await outcomes_of(api, campaign)) if row["verdict"] == "failed"]
        assert (hung["case"], hung["cause"]) == (f"{SUITE}.f3/0", "timeout")
        assert hung["duration_s"] < 2 + 2 * TIMES.grace_s + 3, "timeout, grace, grace, and a little"


async def outcomes_of(api: httpx.AsyncClient, campaign: int) -> list[dict[str, Any]]:
    return list((await api.get(f"/campaigns/{campaign}/outcomes")).json()["outcomes"])


async def until_done(api: httpx.AsyncClient, campaign: int, count: int) -> None:
    await until(api, campaign, lambda campaign: campaign["counters"]["done"] >= count)


async def test_streams_that_close_after_each_event_hold_nothing_up(api: httpx.AsyncClient) -> None:
    with scripted_runner(Script(closes_after_events=1)) as stub:
        outcomes = await wait_outcomes(api, await submit(api, stub))
        assert {outcome["verdict"] for outcome in outcomes} == {"passed"}


async def test_a_deadline_holds_however_often_the_stream_breaks(api: httpx.AsyncClient) -> None:
    script = Script(ends=lambda job: not is_bad(job), closes_after_events=1)
    with scripted_runner(script) as stub:
        outcomes = {outcome["case"]: outcome for outcome in await wait_outcomes(api, await submit(api, stub))}
        assert outcomes.pop(f"{SUITE}.f3/0")["cause"] == "timeout"
        assert {outcome["verdict"] for outcome in outcomes.values()} == {"passed"}


async def test_a_runner_that_is_silent_in_each_case_and_then_reports_is_believed(api: httpx.AsyncClient) -> None:
    """The runner is silent for longer than the limit, so its attempts are lost. The outcomes that it reports afterwards
    still count."""
    script, loop = Script(), asyncio.get_running_loop()
    silence_s = TIMES.silence_s + 1.5

    def falls_silent(job: Job) -> bool:
        script.silent = True
        loop.call_soon_threadsafe(loop.call_later, silence_s, setattr, script, "silent", False)
        return True

    script.ends = falls_silent
    with scripted_runner(script, cases=3) as stub:
        outcomes = await wait_outcomes(api, await submit(api, stub))
        assert Counter(outcome["verdict"] for outcome in outcomes) == {"passed": 3}
    assert len(stub.posted) <= 9, "it is not given the same again and again"


async def test_a_case_that_outlasts_many_silences_is_no_timeout(api: httpx.AsyncClient) -> None:
    """The network fails as often as attempts may be lost, and each time the same attempt continues."""
    with scripted_runner(Script(ends=lambda job: False), cases=1) as stub:
        campaign = await submit(api, stub, timeout_s=600)
        await until(api, campaign, lambda _: stub.last_started() is not None)
        for _ in range(MOST):
            stub.script.silent = True
            await until_runner_is(api, "quarantined")
            stub.script.silent = False
            await until_runner_is(api, "online")
        assert stub.deleted == [], "nobody stopped it"
        stub.finish(stub.posted[0])
        (outcome,) = await wait_outcomes(api, campaign)
    assert (outcome["verdict"], outcome["attempt"]) == ("passed", 1)


async def until_runner_is(api: httpx.AsyncClient, state: str) -> None:
    async def is_so() -> bool:
        return bool((await runner(api))["state"] == state)

    await async_until(is_so, f"the runner is {state}", ENDS_WITHIN_S)


async def test_a_stop_by_somebody_else_is_no_outcome(api: httpx.AsyncClient) -> None:
    stopped_jobs: list[Job] = []

    def is_stopped(job: Job) -> bool:
        if is_bad(job) and not stopped_jobs:
            stopped_jobs.append(job)
            return False
        return True

    with scripted_runner(Script(ends=is_stopped)) as stub:
        campaign = await submit(api, stub, timeout_s=60)
        await until(api, campaign, lambda campaign: bool(stopped_jobs))
        stub.cancel(stopped_jobs[0])
        outcomes = {outcome["case"]: outcome for outcome in await wait_outcomes(api, campaign)}
        assert {outcome["verdict"] for outcome in outcomes.values()} == {"passed"}
        assert outcomes[f"{SUITE}.f3/0"]["attempt"] == 2


async def test_a_cancellation_over_a_slow_link_holds_up_nothing(api: httpx.AsyncClient) -> None:
    """A runner that responds after 0.1 s holds hundreds of jobs. The next campaign does not wait until they are
    stopped."""
    with scripted_runner(cases=400) as stub:
        await wait_outcomes(api, await submit(api, stub))
        stub.script.starts = False
        cancelled_campaign = await submit(api, stub)
        await asyncio.to_thread(sync_until, lambda: stub.holds >= 100, "it holds many jobs", ENDS_WITHIN_S)
        stub.script.answer_after_s = 0.1
        assert (await api.post(f"/campaigns/{cancelled_campaign}/cancel")).status_code == 200
        following = await submit(api, stub, functions=[f"{SUITE}.f3"])
        stub.script.starts = True
        (outcome,) = await wait_outcomes(api, following)
        await asyncio.to_thread(sync_until, lambda: not stub.holds, "it holds nothing any more", ENDS_WITHIN_S)
        assert (await runner(api))["state"] == "online"
    assert (outcome["verdict"], outcome["attempt"]) == ("passed", 1)
    assert max(Counter(stub.deleted).values()) == 1


async def test_a_lease_that_nobody_knows_of_is_found(api: httpx.AsyncClient, database: str) -> None:
    """A claim was committed after its connection had been given up, so only the database has the lease."""
    held_back: list[Job] = []

    def waits(job: Job) -> bool:
        held_back.append(job)
        return False

    with scripted_runner(Script(begins=waits), cases=1) as stub:
        campaign = await submit(api, stub)
        await asyncio.to_thread(sync_until, lambda: held_back, "the runner holds the job back", ENDS_WITHIN_S)
        connection = await asyncpg.connect(database)
        await connection.execute("UPDATE jobs SET attempt = attempt + 1")
        await connection.execute(
            "INSERT INTO attempts (job_id, attempt, runner_id, boot_id, token)"
            " SELECT job_id, attempt + 1, runner_id, boot_id, token FROM attempts"
        )
        await connection.close()
        stub.script.begins = lambda job: True
        (outcome,) = await wait_outcomes(api, campaign)
        assert (outcome["verdict"], outcome["attempt"]) == ("passed", 2)


async def test_a_cursor_that_is_ahead_of_its_runner_is_rewound(api: httpx.AsyncClient, database: str) -> None:
    with scripted_runner() as stub:
        await wait_outcomes(api, await submit(api, stub))
        stub.script.begins = lambda job: False
        campaign = await submit(api, stub)
        connection = await asyncpg.connect(database)
        await connection.execute("UPDATE runners SET cursor = 1000000")
        await connection.close()
        stub.script.begins = lambda job: True
        stub.cut()
        outcomes = await wait_outcomes(api, campaign)
        assert {outcome["verdict"] for outcome in outcomes} == {"passed"}
