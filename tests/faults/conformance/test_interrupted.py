"""The check on runners that die during it, that serve a coordinator, or that respond to few requests; and an
interrupted check."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest

from coordinator.conformance import ClauseFinding, Level, Result, check
from coordinator.conformance.contract import CLAUSES
from coordinator.errors import UnusableRunnerError
from protocol.enums import ConformanceTag
from tests.faults.conformance.toy import REVISION, SECRET, Toy, toy_server
from tests.runner_process import RunnerProcess
from tests.waiting import LIMIT_S, until

NEEDS_A_TAG = {
    "jobs.newer": ConformanceTag.hangs,
    "stopping.running": ConformanceTag.hangs,
    "stopping.queued": ConformanceTag.hangs,
    "stopping.alone": ConformanceTag.hangs,
    "jobs.slots": ConformanceTag.hangs,
    "deadline.kills": ConformanceTag.hangs,
    "outcomes.output": ConformanceTag.prints,
}


async def _until(condition: Callable[[], object], what: str) -> None:
    await asyncio.to_thread(until, condition, what)


async def test_what_a_catalogue_offers_no_case_for_is_not_run_and_says_which_tag_is_missing() -> None:
    async with toy_server(Toy(has_tags=False)) as url:
        report = await check(url, SECRET, level=Level.probe)
    not_run = {finding.id: finding.detail or "" for finding in report.findings if finding.result is not Result.passed}
    assert not_run.keys() == NEEDS_A_TAG.keys()
    assert all(NEEDS_A_TAG[id] in detail for id, detail in not_run.items())
    assert {finding.result for finding in report.findings} == {Result.passed, Result.not_run}


async def test_a_runner_that_dies_fails_one_check_and_the_rest_is_not_run() -> None:
    runner = RunnerProcess()
    try:

        def kill(finding: ClauseFinding) -> None:
            if finding.id == "jobs.runs":
                runner.process.kill()
                runner.process.wait(LIMIT_S)

        report = await check(runner.ready["url"], runner.ready["secret"], level=Level.probe, on_finding=kill)
    finally:
        runner.stop()
    results = [finding.result for finding in report.findings]
    failed_place = [finding.id for finding in report.findings].index("jobs.runs") + 1
    assert results[:failed_place] == [Result.passed] * failed_place
    assert results[failed_place] is Result.failed
    assert set(results[failed_place + 1 :]) == {Result.not_run}
    assert "stopped answering" in (report.findings[-1].detail or "")
    assert len(report.findings) == sum(clause.level is Level.probe for clause in CLAUSES)


async def test_a_runner_with_somebody_elses_events_is_refused_and_they_stay() -> None:
    toy = Toy()
    async with (
        toy_server(toy) as url,
        httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {SECRET}"}) as owner,
    ):
        job = {"id": "17", "attempt": 1, "case": "passes", "run": 1, "timeout_s": 5, "timing": "off"}
        body = {"boot_id": toy.boot_id, "suite": "toy", "revision": REVISION, "jobs": [job]}
        assert (await owner.post("/v1/jobs", json=body)).is_success
        await _until(lambda: toy.last == 2, "its job is finished")
        with pytest.raises(UnusableRunnerError, match=r"job 17, which another client posted"):
            await check(url, SECRET)
        assert [event["id"] for _, event in toy.events] == ["17", "17"]
        assert toy.acknowledged == 0


async def test_a_runner_that_runs_a_job_of_somebody_else_is_refused() -> None:
    toy = Toy()
    async with (
        toy_server(toy) as url,
        httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {SECRET}"}) as owner,
    ):
        job = {"id": "17", "attempt": 1, "case": "hangs", "run": 1, "timeout_s": 60, "timing": "off"}
        body = {"boot_id": toy.boot_id, "suite": "toy", "revision": REVISION, "jobs": [job]}
        assert (await owner.post("/v1/jobs", json=body)).is_success
        await _until(lambda: toy.last == 1, "its job runs")
        # Its owner has stored that it started, so that only the heartbeat tells of it.
        assert (await owner.post("/v1/events/ack", json={"boot_id": toy.boot_id, "n": 1})).is_success
        with pytest.raises(UnusableRunnerError, match=r"job 17, which another client posted"):
            await check(url, SECRET)
        assert toy.current is not None
        assert toy.current["id"] == "17"


async def test_an_interrupted_check_leaves_nothing_running_and_the_next_one_passes() -> None:
    toy = Toy()
    async with toy_server(toy) as url:
        checking = asyncio.create_task(check(url, SECRET, level=Level.probe))
        await _until(lambda: toy.current is not None and toy.current["case"] == "hangs", "a case hangs")
        checking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await checking
        await _until(lambda: toy.current is None and not toy.queue, "nothing runs")
        report = await check(url, SECRET, level=Level.probe)
    assert {finding.id: finding.detail for finding in report.findings if finding.result is not Result.passed} == {}
