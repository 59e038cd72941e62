"""Users' own suites over HTTP: served like any other suite, and chosen only by the person who starts the runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.catalogue import Catalogue
from protocol.jobs import JobReceipts
from tests.own_suite import BOTH, MODULE, write_module
from tests.runner_process import RunnerProcess


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_module(tmp_path)


@pytest.fixture
def runner(file: Path) -> Iterator[RunnerProcess]:
    running = RunnerProcess("--suite", str(file))
    yield running
    running.stop()


def _catalogue(runner: RunnerProcess) -> Catalogue:
    return Catalogue.model_validate_json(runner.http.get("/v1/catalogue").content)


def test_it_is_in_the_catalogue_beside_the_suites_of_the_framework(runner: RunnerProcess) -> None:
    suites = {suite.name: suite for suite in _catalogue(runner).suites}
    assert list(suites) == ["mine", "hazards", "conformance"]
    assert [case.id for case in suites["mine"].cases] == BOTH
    assert all(case.digest and case.options for case in suites["mine"].cases)


def test_its_cases_run_with_proof_and_times_each_function_in_a_child(runner: RunnerProcess) -> None:
    jobs = [runner.job(case) | {"case": case, "timing": "steady"} for case in BOTH]
    assert runner.post(*jobs) == ["queued"] * 2
    for outcome in runner.finished(2).values():
        assert (outcome.verdict, outcome.placement) == ("passed", "on_device")
        assert outcome.timing.cold_ms is not None
        assert outcome.timing.samples_ms


def test_a_failing_case_brings_its_evidence_with_the_line_of_the_suite(tmp_path: Path) -> None:
    source = MODULE.replace("values.sum()", "values.sam()")
    running = RunnerProcess("--suite", str(write_module(tmp_path, source, "faulty")))
    try:
        job = running.job("") | {"case": BOTH[0]}
        assert running.post(job) == ["queued"]
        (outcome,) = running.finished(1).values()
        assert outcome.verdict == "failed"
        assert outcome.evidence is not None
        assert outcome.evidence.exception == "builtins.AttributeError"
        assert any("faulty.py" in frame for frame in outcome.evidence.frames), outcome.evidence.frames
    finally:
        running.stop()


def test_the_command_that_repeats_a_case_brings_the_suite(runner: RunnerProcess, file: Path) -> None:
    assert runner.info.fingerprint.repeat == f"portolan-runner run hazards cpu {{case}} --suite {file}[ --run {{run}}]"


@pytest.mark.parametrize("place", ["case", "suite"])
def test_no_request_names_a_path(tmp_path: Path, runner: RunnerProcess, place: str) -> None:
    """A module that another user wrote onto the machine is not imported, however a request writes its path."""
    trace = tmp_path / "imported"
    other = write_module(tmp_path, f"open({str(trace)!r}, 'w').close()\n" + MODULE, "other")
    for path in (str(other), "./other.py", "other", f"{other}:FUNCTIONS", "../other"):
        job = runner.job("") | {"case": path if place == "case" else BOTH[0]}
        body = {
            "boot_id": runner.info.boot_id,
            "suite": path if place == "suite" else "mine",
            "revision": runner.suite.revision,
            "jobs": [job],
        }
        answer = runner.http.post("/v1/jobs", json=body)
        assert [receipt.status for receipt in JobReceipts.model_validate_json(answer.content).jobs] == ["unknown_case"]
    for path in ("/v1/catalogue", "/v1/runner"):
        assert runner.http.get(path, params={"suite": str(other), "path": str(other)}).status_code == 200
    assert [suite.name for suite in _catalogue(runner).suites] == ["mine", "hazards", "conformance"]
    assert not trace.exists()
