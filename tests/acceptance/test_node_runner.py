"""The runner in another language, ``examples/node-runner``, is charted like any other, and loses no event."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.catalogue import Catalogue
from protocol.enums import CONFORMANCE_SUITE, Ending, Placement
from protocol.events import Finished, Heartbeat, Started
from protocol.outcomes import Outcome
from tests.acceptance.conftest import SECRET
from tests.coordinator_process import CoordinatorProcess, free_port
from tests.fork_server import COORDINATOR_SERVER, call
from tests.portolan_process import COMMAND
from tests.runner_process import ROOT, RunnerProcess, alive, environment
from tests.waiting import until

EXAMPLE = ROOT / "examples" / "node-runner"
NODE = shutil.which("node")
KIT_LIMIT_S = 300.0


@pytest.fixture(scope="module", autouse=True)
def node() -> None:
    if NODE is None:
        if os.environ.get("PORTOLAN_REQUIRE_NODE") == "1":
            pytest.fail("PORTOLAN_REQUIRE_NODE=1 is set, and there is no command node: install Node.js 20 or later")
        pytest.skip("there is no command node; the runner in another language is not tested")


class NodeRunner(RunnerProcess):
    """One process of the example runner. Its port stays the same after a restart."""

    def __init__(self, port: int | None = None, **variables: str) -> None:
        self.port = port or free_port()
        command = ["node", EXAMPLE / "main.js", "--port", str(self.port)]
        super().__init__(command=command, PORTOLAN_RUNNER_SECRET=SECRET, **variables)
        suites = Catalogue.model_validate_json(self.http.get("/v1/catalogue").content).suites
        self.suites = {suite.name: suite for suite in suites}

    def case(self, id: str, **fields: Any) -> dict[str, Any]:
        """A job for a case, with the suite to which the case belongs."""
        self.suite = self.suites[CONFORMANCE_SUITE if id.startswith(CONFORMANCE_SUITE) else "node"]
        return self.job(id) | {"case": id} | fields

    def outcome(self, id: str, **fields: Any) -> Outcome:
        job = self.case(id, **fields)
        assert self.post(job) == ["queued"]
        (outcome,) = self.finished(1).values()
        return outcome

    def kill(self) -> None:
        self.http.close()
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def example() -> Iterator[NodeRunner]:
    runner = NodeRunner()
    yield runner
    runner.stop()


@pytest.fixture
def here(coordinator: CoordinatorProcess, place: Path) -> Iterator[NodeRunner]:
    """The example runner, registered. Other timed work on this machine does not delay it."""
    runner = NodeRunner(PORTOLAN_TIMING_LOCK=str(place / "lock"))
    assert coordinator.register(runner.ready["url"], SECRET).status_code == 201
    yield runner
    runner.stop()


def has(name: str) -> bool:
    """Whether this version of Node.js has a function, according to Node.js itself."""
    script = f"import * as zlib from 'node:zlib'; console.log(typeof {name} === 'function')"
    process = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True, timeout=120
    )
    return process.stdout.strip() == "true"


def refusal_of(*options: str, **variables: str) -> str:
    """The error message, one line, of a runner that cannot start."""
    process = subprocess.run(
        ["node", EXAMPLE / "main.js", *options],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 2, (process.returncode, process.stdout, process.stderr)
    assert process.stdout == ""
    (line,) = process.stderr.splitlines()
    return line


def test_its_suite_is_charted(coordinator: CoordinatorProcess, here: NodeRunner) -> None:
    campaign = coordinator.submit("*", suite="node", timing="paper", runs=1)
    detail = coordinator.wait_ended(campaign)
    (target,) = detail["by_target"]
    version = here.info.version
    assert (target["framework"], target["version"], target["device"]) == ("node", version, "cpu")

    cases = here.suites["node"].cases
    missing_functions = {name for name in ("Set.prototype.union", "zlib.crc32") if not has(name)}
    rows = coordinator.outcomes(campaign)
    assert {row["case"] for row in rows} == {case.id for case in cases}
    expected_verdicts = {case.id: "skipped" if case.function in missing_functions else "passed" for case in cases}
    assert {row["case"]: row["verdict"] for row in rows} == expected_verdicts
    passed_rows = [row for row in rows if row["verdict"] == "passed"]
    assert all(row["placement"] == "on_device" and row["devices"] == ["cpu"] for row in passed_rows)
    assert all(row["cold_ms"] > 0 and row["steady_ms"] is None for row in passed_rows), "the paper's rule is one call"
    assert all(row["cause"] == "removed" for row in rows if row["function"] in missing_functions)
    assert all(row["fingerprint"]["libraries"]["node"] == version for row in rows)

    matrix = coordinator.http.get(f"/campaigns/{campaign}/matrix").json()
    verdicts = {
        row["function"]: next(iter(row["cells"].values()))["counts"]["anywhere"]["verdict"] for row in matrix["rows"]
    }
    assert verdicts == {case.function: "unknown" if case.function in missing_functions else "success" for case in cases}

    comma = coordinator.http.get(f"/campaigns/{campaign}/outcomes", params={"format": "csv"}).text
    assert {row["case"]: row["verdict"] for row in csv.DictReader(io.StringIO(comma))} == expected_verdicts


def test_a_steady_time_is_stored_with_its_samples(coordinator: CoordinatorProcess, here: NodeRunner) -> None:
    campaign = coordinator.submit("Math.*", suite="node", timing="steady", runs=1)
    coordinator.wait_ended(campaign)
    rows = coordinator.outcomes(campaign)
    assert len(rows) == sum(case.function.startswith("Math.") for case in here.suites["node"].cases)
    for row in rows:
        assert row["cold_ms"] > 0
        assert row["steady_ms"] > 0
        assert 3 <= row["samples"] <= 200


def test_samples_are_raw_and_of_one_call(example: NodeRunner) -> None:
    timing = example.outcome("Math.imul/edges", timing="steady").timing
    assert timing.cold_ms is not None
    assert timing.calls_per_sample > 1, "one call is shorter than a sample"
    assert len(set(timing.samples_ms)) > 1
    assert max(timing.samples_ms) * timing.calls_per_sample >= 0.1, "a sample lasts 0.1 ms"
    assert statistics.median(timing.samples_ms) < 0.1


def test_a_kill_in_mid_campaign_loses_nothing(coordinator: CoordinatorProcess) -> None:
    first = NodeRunner()
    assert coordinator.register(first.ready["url"], SECRET).status_code == 201
    campaign = coordinator.submit("Math.*", "crypto.*", suite="node", runs=3)
    total = coordinator.campaign(campaign)["counters"]["total"]
    coordinator.wait_done(campaign, 5)
    first.kill()
    assert coordinator.campaign(campaign)["counters"]["done"] < total, "the kill came too late to say anything"
    second = NodeRunner(first.port)
    try:
        assert second.info.boot_id != first.info.boot_id
        counters = coordinator.wait_ended(campaign)["counters"]
    finally:
        second.stop()
    assert (counters["done"], counters["passed"]) == (total, total)
    rows = coordinator.outcomes(campaign)
    assert len({(row["case"], row["run"]) for row in rows}) == len(rows) == total


def test_a_case_that_hangs_is_killed_at_its_deadline_and_costs_that_case_only(example: NodeRunner) -> None:
    """The smallest delay of several kills counts, because a busy machine may delay a kill."""
    for _ in range(3):
        hung, after = example.case("conformance.hangs/0", timeout_s=0.5), example.case("conformance.passes/0")
        assert example.post(hung, after) == ["queued", "queued"]
        outcomes = example.finished(2)
        assert outcomes[hung["id"]].ending is Ending.timed_out
        assert outcomes[hung["id"]].duration_s >= 0.5
        assert outcomes[after["id"]].ending is Ending.returned
        assert outcomes[after["id"]].placement is Placement.host_only
        assert example.below() == []
        if outcomes[hung["id"]].duration_s < 5:
            return
    pytest.fail(f"the last of three was said to take {outcomes[hung['id']].duration_s:.2f} s")


def test_what_hangs_dies_with_a_runner_that_is_killed(example: NodeRunner) -> None:
    hung = example.case("conformance.hangs/0")
    assert example.post(hung) == ["queued"]
    example.wait_started(hung["id"])
    (child,) = example.below()
    example.kill()
    until(lambda: not alive(child.pid), "the case's process is gone")


def test_a_cancelled_job_is_killed_or_taken_off_the_queue(example: NodeRunner) -> None:
    running, waiting = example.case("conformance.hangs/0"), example.case("conformance.passes/0")
    assert example.post(running, waiting) == ["queued", "queued"]
    example.wait_started(running["id"])
    for job in (waiting, running):
        assert example.http.delete(f"/v1/jobs/{job['id']}/{job['attempt']}").status_code == 204
    outcomes = example.finished(2)
    assert {outcome.ending for outcome in outcomes.values()} == {Ending.cancelled}
    assert example.below() == []


def test_a_newer_attempt_replaces_the_older(example: NodeRunner) -> None:
    older = example.case("conformance.hangs/0")
    newer = older | {"attempt": 2}
    assert example.post(older) == ["queued"]
    example.wait_started(older["id"])
    assert example.post(newer) == ["queued"]
    assert example.post(older) == ["stale_attempt"]
    assert example.post(newer) == ["known"]
    with example.stream(0) as events:
        replaced_attempt = next(event for event in events if isinstance(event, Finished))
        next(event for event in events if isinstance(event, Started) and event.attempt == 2)
        assert example.http.delete(f"/v1/jobs/{newer['id']}/2").status_code == 204
        stopped_attempt = next(event for event in events if isinstance(event, Finished))
    assert [(event.attempt, event.outcome.ending) for event in (replaced_attempt, stopped_attempt)] == [
        (1, Ending.cancelled),
        (2, Ending.cancelled),
    ]


def test_an_id_with_another_case_run_or_suite_is_refused_and_what_is_here_goes_on(example: NodeRunner) -> None:
    job = example.case("conformance.hangs/0")
    assert example.post(job) == ["queued"]
    for fields in ({"run": 2}, {"case": "conformance.passes/0"}, {"case": "conformance.passes/0", "attempt": 2}):
        assert example.post(job | fields) == ["other_case"]
    example.suite = example.suites["node"]
    assert example.post(job | {"case": "Math.fround/ties"}) == ["other_case"]
    example.wait_started(job["id"])
    assert example.http.delete(f"/v1/jobs/{job['id']}/1").status_code == 204
    (outcome,) = example.finished(1).values()
    assert outcome.ending is Ending.cancelled


def test_all_that_a_case_prints_is_counted_and_the_end_of_it_kept(example: NodeRunner) -> None:
    outcome = example.outcome("conformance.prints/0")
    assert outcome.ending is Ending.returned
    assert outcome.log_bytes > 1 << 20
    assert outcome.log_tail.endswith("conformance: the end\n")
    assert len(outcome.log_tail.encode()) <= 64 << 10


def test_the_stream_begins_where_it_is_asked_to_until_that_is_forgotten(example: NodeRunner) -> None:
    assert example.post(example.case("Math.fround/ties"), example.case("Math.imul/edges")) == ["queued", "queued"]
    with example.stream(0) as events:
        log_events = [next(event for event in events if not isinstance(event, Heartbeat)) for _ in range(4)]
    assert [type(event) for event in log_events] == [Started, Finished] * 2
    assert [event.n for event in log_events] == [1, 2, 3, 4]
    with example.stream(2) as events:
        assert next(event for event in events if not isinstance(event, Heartbeat)) == log_events[2]

    example.acknowledge(2)
    query = {"boot_id": example.info.boot_id, "after": 1}
    assert example.http.get("/v1/events", params=query).status_code == 410
    assert example.http.get("/v1/events", params=query | {"after": 5}).status_code == 422
    assert example.http.get("/v1/events", params=query | {"boot_id": "another"}).json()["boot_id"] == query["boot_id"]
    with example.stream(2) as events:
        assert next(event for event in events if not isinstance(event, Heartbeat)) == log_events[2]


def test_waiting_for_the_timing_lock_is_on_no_clock(place: Path) -> None:
    """The wait is longer than the deadline, and the case still does not time out."""
    lock = place / "lock"
    runner = NodeRunner(PORTOLAN_TIMING_LOCK=str(lock))
    try:
        with lock.open("w") as lock_file:
            fcntl.flock(lock_file, fcntl.LOCK_EX)
            job = runner.case("Math.clz32/powers", timing="paper", timeout_s=4.0)
            assert runner.post(job) == ["queued"]
            runner.wait_started(job["id"])
            with runner.stream() as events:
                beats = (event for event in events if isinstance(event, Heartbeat) and event.running)
                _, later = next(beats), next(beats)
        assert later.running[0].elapsed_s < 4.0 < later.running[0].waited_s
        (outcome,) = runner.finished(1).values()
    finally:
        runner.stop()
    assert outcome.ending is Ending.returned
    assert outcome.timing.lock_wait_ms > 4_000 > outcome.duration_s * 1_000
    assert outcome.timing.samples_ms == [], "the paper's rule is one call"


def test_bad_requests_get_a_problem_and_take_nothing(example: NodeRunner) -> None:
    good = example.case("conformance.passes/0")
    batch = {
        "boot_id": example.info.boot_id,
        "suite": example.suite.name,
        "revision": example.suite.revision,
        "jobs": [good],
    }
    bad: list[tuple[int, object]] = [
        (422, [1]),
        (422, batch | {"jobs": []}),
        (422, batch | {"more": 1}),
        (422, batch | {"jobs": [good, good | {"code": "while (true);"}]}),
        (422, batch | {"jobs": [good, good | {"timeout_s": 0}]}),
        (422, batch | {"jobs": [good, None]}),
        (409, batch | {"boot_id": "another"}),
        (409, batch | {"revision": "another"}),
        (413, batch | {"suite": "x" * (5 << 20)}),
    ]
    for status, body in bad:
        answer = example.http.post("/v1/jobs", content=json.dumps(body))
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]
    assert example.http.post("/v1/jobs", content=b"\xff{").status_code == 422
    for method, path, status in [("GET", "/v1/nothing", 404), ("PUT", "/v1/jobs", 405)]:
        assert example.http.request(method, path).status_code == status
    assert example.http.get("/v1/runner", headers={"Authorization": "Bearer another"}).status_code == 401
    assert example.post(good) == ["queued"], "none of them was taken"
    assert example.http.post("/v1/jobs", json=batch | {"jobs": [good | {"id": "a", "case": "no/such"}]}).json() == {
        "jobs": [{"id": "a", "attempt": 1, "status": "unknown_case"}]
    }


def test_what_keeps_it_from_starting_is_one_line(example: NodeRunner, place: Path) -> None:
    empty = place / "empty"
    empty.touch()
    assert "no secret" in refusal_of()
    assert "is empty" in refusal_of("--secret-file", str(empty))
    assert "cannot read the secret file" in refusal_of("--secret-file", str(place / "none"))
    assert "EADDRINUSE" in refusal_of("--port", str(example.port), PORTOLAN_RUNNER_SECRET=SECRET)
    assert "from 0 (any free one) to 65535" in refusal_of("--port", "many", PORTOLAN_RUNNER_SECRET=SECRET)
    lock = {"PORTOLAN_TIMING_LOCK": str(place / "none" / "lock")}
    assert "the timing lock cannot be opened" in refusal_of("--port", "0", PORTOLAN_RUNNER_SECRET=SECRET, **lock)
    assert "there is no case" in refusal_of("run", "Math.none/0")
    assert "or: run CASE" in refusal_of("walk")
    assert "options: --host" in refusal_of("--ports", "1", PORTOLAN_RUNNER_SECRET=SECRET)


def test_it_ends_with_all_that_it_started_when_it_is_told_to(example: NodeRunner) -> None:
    hung = example.case("conformance.hangs/0")
    assert example.post(hung) == ["queued"]
    example.wait_started(hung["id"])
    (child,) = example.below()
    assert example.stop() == 0
    until(lambda: not alive(child.pid), "the case's process is gone")


def test_what_it_says_repeats_a_case(coordinator: CoordinatorProcess, here: NodeRunner) -> None:
    campaign = coordinator.submit("Math.imul", suite="node", timing="off", runs=1)
    coordinator.wait_ended(campaign)
    row = coordinator.outcomes(campaign)[0]
    process = subprocess.run(
        ["sh", "-c", row["repeat"]], env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert process.returncode == 0, process.stderr
    assert Outcome.model_validate_json(process.stdout).ending is Ending.returned


def test_its_own_tests_pass() -> None:
    process = subprocess.run(["node", "--test"], cwd=EXAMPLE, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stdout


@pytest.mark.level(2)
def test_it_passes_the_conformance_check_with_every_check_run(place: Path) -> None:
    """A shell script restarts the runner whenever it ends, so that the check can test a restart."""
    pid, secret, port = place / "pid", place / "secret", free_port()
    secret.write_text(SECRET)
    again = f"""
        trap 'kill "$runner"; exit 0' TERM
        while :; do
            node {EXAMPLE}/main.js --port {port} & runner=$!
            echo "$runner" > {pid}
            wait "$runner"
        done
    """
    restart = f'old=$(cat {pid}); kill -9 "$old"; while kill -0 "$old" 2>/dev/null; do sleep 0.1; done'
    runner = RunnerProcess(command=["sh", "-c", again], PORTOLAN_RUNNER_SECRET=SECRET)
    options = ["--secret-file", str(secret), "--restart-command", restart, "--json"]
    try:
        check = [*COMMAND, "runner", "check", runner.ready["url"], *options]
        process = call(COORDINATOR_SERVER, check, environment(), "", KIT_LIMIT_S)
    finally:
        runner.stop()
    assert process.returncode == 0, process.stdout + process.stderr
    findings = json.loads(process.stdout)["findings"]
    assert findings
    assert [finding for finding in findings if finding["result"] != "passed"] == []
