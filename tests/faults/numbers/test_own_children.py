"""A clock is wrong in a child process of Portolan's own runner. This attempt is incomplete, and its reason names the
wrong number.

It never counts as a failure of the device, and the stream of events continues.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from protocol.enums import Ending, Verdict
from protocol.outcomes import Outcome
from tests.runner_process import RunnerProcess


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    running = RunnerProcess()
    yield running
    assert running.stop() == 0


@pytest.fixture(autouse=True)
def fit_for_the_next(runner: RunnerProcess) -> Iterator[None]:
    yield
    assert runner.run("add/0").verdict is Verdict.passed


def reason_of(outcome: Outcome) -> str:
    """The reason why an attempt is incomplete."""
    assert (outcome.verdict, outcome.ending) == (Verdict.incomplete, Ending.harness_failed)
    assert outcome.evidence is not None
    assert outcome.evidence.reason is not None
    return outcome.evidence.reason


@pytest.mark.parametrize(
    ("case", "fault"),
    [
        ("measure-nan", "samples_ms.1: must be a finite number"),
        ("measure-negative", "samples_ms.0: must be 0 or more"),
        ("measure-huge", "samples_ms.0: must be 1000000000000 or less"),
        ("end-infinite", "duration_s: must be a finite number"),
    ],
)
def test_what_the_harness_cannot_have_measured_is_its_own_failure(runner: RunnerProcess, case: str, fault: str) -> None:
    outcome = runner.run(f"one_of/{case}", timing="steady")
    assert reason_of(outcome) == f"the report of the case has an invalid value: {fault}"
    assert outcome.duration_s < 60


def test_a_first_call_of_infinite_length_too(runner: RunnerProcess) -> None:
    """The case that breaks the clock is measured correctly. The next case in its process is not."""
    jobs = [runner.job(f"one_of/{case}", timing="steady") for case in ("measure-infinite", "two")]
    assert runner.post(*jobs) == ["queued", "queued"]
    outcomes = runner.finished(2)
    assert outcomes[jobs[0]["id"]].verdict is Verdict.passed
    assert reason_of(outcomes[jobs[1]["id"]]).endswith("cold_ms: must be a finite number")


@pytest.mark.parametrize("case", ["freeze-nan", "freeze-past", "freeze-future"])
def test_a_library_that_freezes_time_changes_no_measurement(runner: RunnerProcess, case: str) -> None:
    jobs = [runner.job(f"one_of/{name}", timing="steady") for name in (case, "two")]
    runner.post(*jobs)
    for outcome in runner.finished(2).values():
        assert outcome.verdict is Verdict.passed
        assert outcome.timing.cold_ms is not None
        assert 0 < outcome.duration_s < 60


def test_nor_does_it_put_off_the_deadline(runner: RunnerProcess) -> None:
    jobs = [runner.job("one_of/freeze-future"), runner.job("one_of/hang", timeout_s=1.0)]
    runner.post(*jobs)
    outcomes = runner.finished(2)
    frozen_outcome, hung = (outcomes[job["id"]] for job in jobs)
    assert frozen_outcome.verdict is Verdict.passed
    assert hung.ending is Ending.timed_out


@pytest.mark.parametrize(
    ("case", "fault"),
    [
        ("negative", "duration_s: must be 0 or more"),
        ("infinite", "duration_s: must be a finite number"),
        ("nul", "log_tail: must not contain NUL"),
        ("nothing", "report is invalid: KeyError: 'outcome'"),
        ("nan", "cannot be read: a message is not JSON"),
    ],
)
def test_a_report_on_the_channel_is_checked_as_strictly(runner: RunnerProcess, case: str, fault: str) -> None:
    assert reason_of(runner.run(f"report/{case}")).endswith(fault)


def test_a_beginning_that_is_still_to_come_counts_from_now(runner: RunnerProcess) -> None:
    assert runner.run("report/tomorrow", timeout_s=1.0).ending is Ending.timed_out
