"""Untimed cases of several functions share a process, and no case is blamed for what another function did."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.enums import Ending, Repetition, Verdict
from protocol.outcomes import Outcome
from runners.isolation.child_state import FUNCTIONS_PER_CHILD
from tests.runner_process import RunnerProcess

pytestmark = pytest.mark.usefixtures("fit_for_the_next")


def positions(outcomes: list[Outcome]) -> list[int]:
    return [outcome.timing.position for outcome in outcomes]


def test_untimed_cases_of_several_functions_share_one(runner: RunnerProcess) -> None:
    assert positions(runner.run_all("subtract/0", "add/0", "add/1", "subtract/0")) == [0, 1, 2, 3]


def test_timed_ones_do_not(runner: RunnerProcess) -> None:
    outcomes = runner.run_all("one_of/one", "one_of/two", "other_of/one", "add/0", timing="steady")
    assert positions(outcomes) == [0, 1, 0, 0]


def test_a_timed_one_begins_another_and_its_function_goes_on_there(runner: RunnerProcess) -> None:
    untimed_cases = ("subtract/0", "add/0", "add/2", "subtract/0")
    jobs = [runner.job(case, timing="off") for case in untimed_cases]
    jobs.insert(2, runner.job("add/1", timing="steady"))
    assert set(runner.post(*jobs)) == {"queued"}
    outcomes = runner.finished(len(jobs))
    assert positions([outcomes[job["id"]] for job in jobs]) == [0, 1, 0, 1, 2]


def test_a_process_takes_so_many_functions_and_no_more(runner: RunnerProcess) -> None:
    outcomes = runner.run_all(*["subtract/0", "add/0"] * FUNCTIONS_PER_CHILD)
    assert positions(outcomes) == [*range(FUNCTIONS_PER_CHILD)] * 2


def test_one_that_has_waited_for_work_takes_no_other_function_on(runner: RunnerProcess) -> None:
    (first,) = runner.run_all("one_of/one")
    (second,) = runner.run_all("other_of/one")
    assert positions([first, second]) == [0, 0]


@pytest.mark.parametrize(("hazard", "reason"), [("stumble", "stumbled over something"), ("stumble-and-die", "SIGKILL")])
def test_what_another_function_left_accuses_nobody(runner: RunnerProcess, hazard: str, reason: str) -> None:
    _, _, outcome, later = runner.run_all("one_of/one", "one_of/leave", f"other_of/{hazard}", "add/0")
    assert (outcome.verdict, outcome.timing.position) == (Verdict.passed, 0)
    assert outcome.evidence is not None
    assert outcome.evidence.after_others is Repetition.failed_otherwise
    assert reason in str(outcome.evidence.reason)
    assert (later.verdict, later.timing.position) == (Verdict.passed, 1)


def test_one_that_another_function_hung_is_begun_anew(runner: RunnerProcess) -> None:
    _, outcome, later = runner.run_all("one_of/leave", "other_of/stumble-and-hang", "add/0", timeout_s=8.0)
    assert (outcome.verdict, outcome.evidence, outcome.timing.position) == (Verdict.passed, None, 0)
    assert (later.verdict, later.timing.position) == (Verdict.passed, 1)


def test_one_of_which_nobody_knows_where_it_ran_is_run_alone(runner: RunnerProcess) -> None:
    """A function whose place of execution is unknown runs alone. Here it is a function that returns no array."""
    outcomes = runner.run_all("subtract/0", "one_of/one", "one_of/two", "add/1")
    assert [outcome.verdict for outcome in outcomes] == [Verdict.passed] * 4
    assert positions(outcomes) == [0, 0, 1, 2]


def test_one_that_hangs_by_itself_gets_all_its_time(runner: RunnerProcess) -> None:
    _, outcome, later = runner.run_all("one_of/one", "other_of/hang", "add/0", timeout_s=4.0)
    assert outcome.ending is Ending.timed_out
    assert 4.0 <= outcome.duration_s < 6.0
    assert (later.verdict, later.timing.position) == (Verdict.passed, 0)


def test_one_that_is_long_to_kill_is_run_alone_all_the_same(runner: RunnerProcess, note: Path) -> None:
    _, outcome, later = runner.run_all("subtract/0", "fork_many/0", "add/0", timeout_s=4.0)
    assert outcome.verdict is Verdict.failed
    assert later.verdict is Verdict.passed
    note.unlink(missing_ok=True)


def test_after_a_failure_of_its_own_others_go_on_beside_it(runner: RunnerProcess) -> None:
    outcomes = runner.run_all("one_of/one", "other_of/fail", "add/0", "add/1")
    assert [outcome.verdict for outcome in outcomes] == [Verdict.passed, Verdict.failed, Verdict.passed, Verdict.passed]
    assert positions(outcomes) == [0, 0, 1, 2]
