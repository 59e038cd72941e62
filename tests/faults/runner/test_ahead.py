"""Cases of one function run one after another without a pause, and each has the outcome of its own behavior only."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.enums import Ending
from protocol.outcomes import Outcome
from tests.runner_process import RunnerProcess
from tests.waiting import LIMIT_S

pytestmark = pytest.mark.usefixtures("fit_for_the_next")


def run(runner: RunnerProcess, *cases: str, **fields: object) -> list[Outcome]:
    """Post cases of one function together, and return their outcomes."""
    return runner.run_all(*(f"one_of/{case}" for case in cases), **fields)


def endings(outcomes: list[Outcome]) -> list[Ending]:
    return [outcome.ending for outcome in outcomes]


def test_what_a_case_prints_stands_with_it(runner: RunnerProcess) -> None:
    cases = ["one", "two", "three"] * 5
    for case, outcome in zip(cases, run(runner, *cases), strict=True):
        assert set(outcome.log_tail.splitlines()) == {case, f"{case}, past every buffer"}


def test_they_share_one_process_and_count_on(runner: RunnerProcess, note: Path) -> None:
    outcomes = run(runner, *["process"] * 4)
    assert [outcome.timing.position for outcome in outcomes] == [0, 1, 2, 3]
    assert len(set(note.read_text().split())) == 1


@pytest.mark.parametrize(
    ("hazard", "timeout_s", "ending"),
    [
        ("segfault", LIMIT_S, Ending.signalled),
        ("hang", 4.0, Ending.timed_out),
        ("channel", LIMIT_S, Ending.exited),
        ("memory", LIMIT_S, Ending.out_of_memory),
    ],
)
def test_the_next_case_does_not_end_with_the_one_before(
    runner: RunnerProcess, hazard: str, timeout_s: float, ending: Ending
) -> None:
    outcomes = run(runner, "one", hazard, "two", "three", timeout_s=timeout_s)
    assert endings(outcomes) == [Ending.returned, ending, Ending.returned, Ending.returned]
    assert [outcome.timing.position for outcome in outcomes[2:]] == [0, 1]
    assert "two" in outcomes[2].log_tail
    assert "two" not in outcomes[1].log_tail


def test_one_hang_after_another_is_timed_from_its_own_beginning(runner: RunnerProcess) -> None:
    outcomes = run(runner, "nap", "hang", "hang", "one", timeout_s=3.0)
    assert endings(outcomes) == [Ending.returned, Ending.timed_out, Ending.timed_out, Ending.returned]
    assert all(outcome.duration_s >= 3.0 for outcome in outcomes[1:3])


def test_the_next_case_runs_without_what_the_one_before_left(runner: RunnerProcess, note: Path) -> None:
    outcomes = run(runner, "one", "children", "nap", "two")
    assert endings(outcomes) == [Ending.returned] * 4
    # It may have begun beside the orphans, unheard; the one that counts was made in a process without them.
    assert [outcome.timing.position for outcome in outcomes[2:]] == [0, 1]
    assert len(note.read_text().split()) >= 2


@pytest.mark.parametrize("cancelled_case", ["hang", "one"])
def test_a_case_can_be_cancelled_before_its_turn(runner: RunnerProcess, cancelled_case: str) -> None:
    jobs = [runner.job(f"one_of/{case}") for case in ("nap", cancelled_case, "two")]
    runner.post(*jobs)
    runner.wait_started(jobs[0]["id"])
    assert runner.http.delete(f"/v1/jobs/{jobs[1]['id']}/1").status_code == 204
    outcomes = runner.finished(3)
    assert endings([outcomes[job["id"]] for job in jobs]) == [Ending.returned, Ending.cancelled, Ending.returned]


def test_a_case_cancelled_in_its_turn_does_not_take_the_next_along(runner: RunnerProcess) -> None:
    jobs = [runner.job(f"one_of/{case}") for case in ("hang", "one", "two")]
    runner.post(*jobs)
    runner.wait_started(jobs[0]["id"])
    assert runner.http.delete(f"/v1/jobs/{jobs[0]['id']}/1").status_code == 204
    outcomes = runner.finished(3)
    assert endings([outcomes[job["id"]] for job in jobs]) == [Ending.cancelled, Ending.returned, Ending.returned]
    assert outcomes[jobs[1]["id"]].timing.position == 0


def test_cancelling_some_of_many_touches_no_other(runner: RunnerProcess) -> None:
    jobs = [runner.job("one_of/one") for _ in range(120)]
    runner.post(*jobs)
    unwanted_ids = [job["id"] for job in jobs[::3]]
    for id in unwanted_ids:
        runner.http.delete(f"/v1/jobs/{id}/1")
    outcomes = runner.finished(len(jobs))
    assert {outcomes[id].ending for id in unwanted_ids} <= {Ending.cancelled, Ending.returned}
    assert {outcomes[job["id"]].ending for job in jobs if job["id"] not in unwanted_ids} == {Ending.returned}
