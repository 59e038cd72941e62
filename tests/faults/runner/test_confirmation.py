"""If a case fails after other cases of its process, it is repeated alone in a new process before the failure is
reported."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from protocol.enums import Ending, Repetition, Verdict
from protocol.events import Heartbeat
from protocol.outcomes import Evidence, Outcome
from tests.runner_process import RunnerProcess
from tests.waiting import LIMIT_S, until

pytestmark = pytest.mark.usefixtures("fit_for_the_next")


def run(runner: RunnerProcess, *cases: str, timeout_s: float = LIMIT_S, timing: str = "off") -> list[Outcome]:
    """Post cases of one function together, and return their outcomes."""
    return runner.run_all(*(f"one_of/{case}" for case in cases), timeout_s=timeout_s, timing=timing)


def evidence(outcome: Outcome) -> Evidence:
    assert outcome.evidence is not None
    return outcome.evidence


@pytest.mark.parametrize("timing", ["off", "steady"])
@pytest.mark.parametrize(("hazard", "reason"), [("stumble", "stumbled over something"), ("stumble-and-die", "SIGKILL")])
def test_what_an_earlier_case_left_accuses_nobody(runner: RunnerProcess, hazard: str, reason: str, timing: str) -> None:
    _, _, outcome, later = run(runner, "one", "leave", hazard, "two", timing=timing)
    assert (outcome.verdict, outcome.timing.position) == (Verdict.passed, 0)
    assert evidence(outcome).after_others is Repetition.failed_otherwise
    assert reason in str(evidence(outcome).reason)
    assert "after 2 other cases" in str(evidence(outcome).reason)
    assert (later.verdict, later.evidence, later.timing.position) == (Verdict.passed, None, 1)


def test_a_failure_of_its_own_is_confirmed(runner: RunnerProcess) -> None:
    _, outcome = run(runner, "one", "fail")
    assert (outcome.ending, outcome.timing.position) == (Ending.raised, 0)
    assert evidence(outcome).after_others is Repetition.failed_alike
    assert evidence(outcome).reason is None


def test_a_failure_that_differs_alone_is_told_as_it_is_alone(runner: RunnerProcess) -> None:
    _, outcome = run(runner, "leave", "stumble-or-fail")
    assert evidence(outcome).exception == "builtins.ValueError"
    assert evidence(outcome).after_others is Repetition.failed_otherwise
    assert "after another case of its process: raised (builtins.RuntimeError: stumbled" in str(evidence(outcome).reason)


def test_the_first_case_of_a_process_needs_no_confirmation(runner: RunnerProcess) -> None:
    (outcome,) = run(runner, "fail")
    assert evidence(outcome).after_others is None


def test_both_runs_share_one_deadline(runner: RunnerProcess, note: Path) -> None:
    """The repetition would take longer than the remaining time, so the first failure is reported."""
    _, outcome, later = run(runner, "leave", "stumble-late", "two", timeout_s=5)
    assert len(note.read_text().split()) == 2
    note.unlink()
    assert (outcome.ending, outcome.timing.position) == (Ending.raised, 1)
    assert evidence(outcome).after_others is None
    assert later.verdict is Verdict.passed


def test_a_confirmation_can_be_cancelled(runner: RunnerProcess, note: Path) -> None:
    jobs = [runner.job(f"one_of/{case}") for case in ("leave", "stumble-late", "two")]
    runner.post(*jobs)
    runner.wait_started(jobs[1]["id"])
    until(lambda: note.exists() and len(note.read_text().split()) == 2, "it runs once more")
    assert runner.http.delete(f"/v1/jobs/{jobs[1]['id']}/1").status_code == 204
    outcomes = runner.finished(3)
    assert [outcomes[job["id"]].ending for job in jobs] == [Ending.returned, Ending.cancelled, Ending.returned]
    note.unlink()


def test_each_attempt_is_started_once(runner: RunnerProcess) -> None:
    jobs = [runner.job(f"one_of/{case}") for case in ("leave", "stumble", "one")]
    runner.post(*jobs)
    with runner.stream() as events:
        of_jobs = (event for event in events if not isinstance(event, Heartbeat))
        event_types = [(event.id, event.type) for event in islice(of_jobs, 6)]
    runner.finished(3)
    assert event_types == [(job["id"], kind) for job in jobs for kind in ("started", "finished")]
