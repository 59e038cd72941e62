"""The runner API, as the design's table describes it, with a real runner."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from protocol.enums import Ending, Verdict
from protocol.events import HEARTBEAT_S, Finished, Heartbeat, Started
from protocol.problems import PROBLEM_JSON, Problem
from tests.idle_connection import outlasts_clients
from tests.runner_process import RunnerProcess
from tests.short_times import HEARTBEAT


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    running = RunnerProcess()
    yield running
    assert running.stop() == 0


def _problem(answer: httpx.Response, status: int) -> Problem:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM_JSON
    details = Problem.model_validate_json(answer.content)
    assert details.status == status
    assert details.detail
    return details


def _body(runner: RunnerProcess, *jobs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "boot_id": runner.info.boot_id,
        "suite": runner.suite.name,
        "revision": runner.suite.revision,
        "jobs": list(jobs),
    } | fields


def test_the_pause_between_its_heartbeats_is_the_variables() -> None:
    running = RunnerProcess(**HEARTBEAT)
    try:
        with running.stream() as events:
            began = time.monotonic()
            beats = [next(events) for _ in range(5)]
            assert time.monotonic() - began < HEARTBEAT_S, "at the runner's own pause not even one would have come"
        assert {event.type for event in beats} == {"heartbeat"}
    finally:
        running.stop()


def test_it_says_what_it_is(runner: RunnerProcess) -> None:
    info = runner.info
    assert (info.protocol, info.framework, info.version, info.device, info.slots) == (
        1,
        "hazards",
        "1.0",
        "cpu",
        1,
    )
    assert len(info.fingerprint.environment) == 12
    assert info.fingerprint.hardware == "the host"


def test_its_catalogue_names_function_and_kind_of_every_case(runner: RunnerProcess) -> None:
    add = next(case for case in runner.suite.cases if case.id == "hazards.add/0")
    assert (add.function, add.host_only) == ("hazards.add", None)
    assert "value" in add.tags
    assert len(runner.suite.revision) == 12


def test_a_job_starts_and_finishes_in_numbered_events(runner: RunnerProcess) -> None:
    job = runner.job("add/0", timing="steady")
    runner.post(job)
    with runner.stream() as events:
        first, second = next(events), next(events)
    assert isinstance(first, Started)
    assert isinstance(second, Finished)
    assert (second.n, second.id, second.attempt) == (first.n + 1, job["id"], 1)
    assert second.outcome.verdict is Verdict.passed
    assert second.outcome.timing.cold_ms is not None
    assert second.outcome.timing.samples_ms
    runner.finished(1)


def test_an_attempt_is_taken_once_and_an_older_one_never(runner: RunnerProcess) -> None:
    job = runner.job("add/0", attempt=2)
    assert runner.post(job) == ["queued"]
    assert runner.post(job) == ["known"]
    assert runner.post(job | {"attempt": 1}) == ["stale_attempt"]
    assert runner.post(runner.job("nothing/0")) == ["unknown_case"]
    runner.finished(1)
    assert runner.post(job) == ["queued"], "an acknowledged attempt is forgotten"
    runner.finished(1)


def test_a_newer_attempt_replaces_the_running_one(runner: RunnerProcess) -> None:
    job = runner.job("hang/0")
    runner.post(job)
    runner.wait_started(job["id"])
    runner.post(job | {"attempt": 2, "timeout_s": 0.5})
    with runner.stream() as events:
        finishes = [event for _, event in zip(range(4), events, strict=False) if isinstance(event, Finished)]
    assert [(finish.attempt, finish.outcome.ending) for finish in finishes] == [
        (1, Ending.cancelled),
        (2, Ending.timed_out),
    ]
    runner.acknowledge(finishes[-1].n)
    runner._seen = finishes[-1].n


def test_an_id_with_another_case_takes_nothing_and_stops_nothing(runner: RunnerProcess) -> None:
    job = runner.job("nap/0")
    assert runner.post(job, job | {"case": "hazards.add/0"}, job | {"attempt": 2, "run": 2}) == [
        "queued",
        "other_case",
        "other_case",
    ]
    (outcome,) = runner.finished(1).values()
    assert outcome.ending is Ending.returned


def test_a_full_queue_says_so_and_a_waiting_job_can_be_cancelled(runner: RunnerProcess) -> None:
    hanging = runner.job("hang/0")
    runner.post(hanging)
    runner.wait_started(hanging["id"])
    jobs = [runner.job("add/0") for _ in range(runner.info.queue_limit + 1)]
    statuses = runner.post(*jobs)
    assert statuses == ["queued"] * runner.info.queue_limit + ["full"]
    for job in (jobs[0], hanging):
        assert runner.http.delete(f"/v1/jobs/{job['id']}/1").status_code == 204
    outcomes = runner.finished(len(jobs))
    assert outcomes[jobs[0]["id"]].ending is Ending.cancelled
    assert outcomes[hanging["id"]].ending is Ending.cancelled
    assert {outcomes[job["id"]].ending for job in jobs[1:-1]} == {Ending.returned}


def test_cancelling_what_is_not_here_is_no_error(runner: RunnerProcess) -> None:
    assert runner.http.delete("/v1/jobs/unheard-of/3").status_code == 204


def test_one_child_serves_a_function_and_run_and_paper_timing_one_case(tmp_path: Any) -> None:
    note = tmp_path / "note"
    running = RunnerProcess(HAZARDS_NOTE=str(note))
    try:
        for run, timing, processes in ((1, "off", 1), (2, "off", 1), (3, "paper", 4)):
            note.unlink(missing_ok=True)
            running.post(*(running.job(f"process_id/{number}", run=run, timing=timing) for number in range(4)))
            running.finished(4)
            assert len(set(note.read_text().split())) == processes
    finally:
        running.stop()


def test_two_streams_see_the_same_and_an_idle_one_hears_heartbeats(runner: RunnerProcess) -> None:
    job = runner.job("hang/0")
    with runner.stream() as one, runner.stream() as other:
        runner.post(job)
        assert next(one) == next(other)
        beat = next(one)
        assert isinstance(beat, Heartbeat)
        (running,) = beat.running
        assert running.id == job["id"]
        assert running.elapsed_s > 1
        runner.http.delete(f"/v1/jobs/{job['id']}/1")
        assert next(one).type == "finished"
    runner.finished(1)


def test_events_that_were_acknowledged_are_gone(runner: RunnerProcess) -> None:
    runner.run("add/0")
    query = {"boot_id": runner.info.boot_id, "after": 0}
    _problem(runner.http.get("/v1/events", params=query), 410)
    ahead = query | {"after": 10**9}
    _problem(runner.http.get("/v1/events", params=ahead), 422)
    _problem(runner.http.post("/v1/events/ack", json={"boot_id": runner.info.boot_id, "n": 10**9}), 422)


def test_another_boot_is_a_conflict_that_names_this_one(runner: RunnerProcess) -> None:
    job = runner.job("add/0")
    answers = [
        runner.http.get("/v1/events", params={"boot_id": "other", "after": 0}),
        runner.http.post("/v1/events/ack", json={"boot_id": "other", "n": 0}),
        runner.http.post("/v1/jobs", json=_body(runner, job, boot_id="other")),
        runner.http.post("/v1/jobs", json=_body(runner, job, revision="other")),
    ]
    for answer in answers:
        _problem(answer, 409)
        assert json.loads(answer.content)["boot_id"] == runner.info.boot_id


@pytest.mark.parametrize(
    "fields",
    [
        {"timeout_s": 0},
        {"timeout_s": -1},
        {"timeout_s": 14_401},
        {"attempt": 0},
        {"run": 0},
        {"timing": "sometimes"},
        {"id": "no spaces"},
        {"id": "x" * 65},
        {"colour": "red"},
    ],
)
def test_an_invalid_job_is_refused_whole(runner: RunnerProcess, fields: dict[str, Any]) -> None:
    details = _problem(runner.http.post("/v1/jobs", json=_body(runner, runner.job("add/0", **fields))), 422)
    assert next(iter(fields)) in details.detail


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b'{"jobs": "\\ud800"}'])
def test_what_is_no_batch_is_refused(runner: RunnerProcess, body: bytes) -> None:
    _problem(runner.http.post("/v1/jobs", content=body), 422)


def test_too_large_a_body_is_refused(runner: RunnerProcess) -> None:
    _problem(runner.http.post("/v1/jobs", content=b" " * (5 << 20)), 413)


def test_unknown_routes_and_methods_are_problems(runner: RunnerProcess) -> None:
    _problem(runner.http.get("/v2/runner"), 404)
    _problem(runner.http.put("/v1/runner"), 405)
    _problem(runner.http.get("/v1/events"), 422)


def test_an_idle_connection_is_kept_for_longer_than_clients_use_it(runner: RunnerProcess) -> None:
    assert outlasts_clients(runner.ready["url"])


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic c2VjcmV0", "Bearer"])
def test_without_the_secret_there_is_only_health(runner: RunnerProcess, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    with httpx.Client(base_url=runner.ready["url"], headers=headers) as stranger:
        assert stranger.get("/healthz").status_code == 200
        for path in ("/v1/runner", "/v1/catalogue", "/v1/nothing"):
            _problem(stranger.get(path), 401)


def test_its_openapi_document_describes_bodies_and_answers(runner: RunnerProcess) -> None:
    document = runner.http.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    assert {"JobBatch", "Job", "Acknowledgement", "RunnerInfo", "Catalogue", "Problem"} <= schemas.keys()
    text = json.dumps(document)
    for reference in {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}:
        assert reference in schemas
