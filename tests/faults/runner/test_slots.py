"""A runner with two slots runs two untimed cases at the same time, and neither is blamed for what the other does."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.enums import Ending, Repetition, Verdict
from protocol.events import Finished, Heartbeat, Started
from tests import bundles
from tests.runner_process import RunnerProcess
from tests.waiting import LIMIT_S

pytestmark = pytest.mark.usefixtures("fit_for_the_next")


@pytest.fixture(scope="module")
def slots() -> int:
    return 2


def at_work(runner: RunnerProcess, count: int) -> list[set[str]]:
    """The running jobs after each of the next events, until this many jobs have finished. Acknowledges the events."""
    jobs_at_work: list[set[str]] = [set()]
    finished_count = 0
    with runner.stream() as events:
        for event in events:
            if isinstance(event, Started):
                jobs_at_work.append(jobs_at_work[-1] | {event.id})
            elif isinstance(event, Finished):
                jobs_at_work.append(jobs_at_work[-1] - {event.id})
                finished_count += 1
            if finished_count == count:
                break
    runner.finished(count)
    return jobs_at_work


def test_it_says_how_many_it_has(runner: RunnerProcess) -> None:
    assert runner.info.slots == 2


def test_as_many_run_at_once_and_never_more(runner: RunnerProcess) -> None:
    jobs = [runner.job(case) for case in ["one_of/nap", "other_of/one", "subtract/0", "add/0"] * 5]
    runner.post(*jobs)
    assert max(map(len, at_work(runner, len(jobs)))) == 2


def test_cases_of_one_function_go_one_after_another(runner: RunnerProcess) -> None:
    jobs = [runner.job("one_of/nap") for _ in range(5)]
    runner.post(*jobs)
    assert max(map(len, at_work(runner, len(jobs)))) == 1


def test_heartbeats_name_all_that_run(runner: RunnerProcess) -> None:
    jobs = [runner.job("one_of/hang"), runner.job("other_of/hang"), runner.job("add/0")]
    runner.post(*jobs)
    ids = [job["id"] for job in jobs]
    with runner.stream() as events:
        beats = (event for event in events if isinstance(event, Heartbeat))
        beat = next(beat for beat in beats if len(beat.running) == 2)
    assert ({running.id for running in beat.running}, beat.queued) == ({*ids[:2]}, 1)
    for id in ids[:2]:
        assert runner.http.delete(f"/v1/jobs/{id}/1").status_code == 204
    outcomes = runner.finished(3)
    assert [outcomes[id].ending for id in ids] == [Ending.cancelled, Ending.cancelled, Ending.returned]


def test_a_timed_case_runs_alone(runner: RunnerProcess) -> None:
    untimed_cases = ["one_of/nap", "other_of/one", "one_of/one", "subtract/0"]
    jobs = [runner.job(case) for case in untimed_cases]
    jobs[2:2] = timed_jobs = [runner.job("add/0", timing="steady"), runner.job("add/1", timing="paper")]
    runner.post(*jobs)
    jobs_at_work = at_work(runner, len(jobs))
    for job in timed_jobs:
        assert [together for together in jobs_at_work if job["id"] in together] == [{job["id"]}]


@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    ("hazard", "timeout_s", "endings"),
    [
        ("fail/0", LIMIT_S, {Ending.raised}),
        ("add/wrong", LIMIT_S, {Ending.mismatched}),
        ("segfault/0", LIMIT_S, {Ending.signalled}),
        ("leave_by_os_exit/0", LIMIT_S, {Ending.exited}),
        ("close_descriptors/0", LIMIT_S, {Ending.exited}),
        ("hang_ignoring_signals/0", 8.0, {Ending.timed_out}),
        ("stop_itself/0", 8.0, {Ending.timed_out}),
        ("eat_memory/0", LIMIT_S, {Ending.out_of_memory}),
        ("fork_many/0", 8.0, {Ending.timed_out, Ending.raised}),
        ("kill_parent/0", LIMIT_S, {Ending.harness_failed}),
        ("leave_children/0", LIMIT_S, {Ending.returned}),
        ("leave_children_and_hang/0", 8.0, {Ending.timed_out}),
    ],
)
def test_what_one_case_does_is_no_others_fault(
    runner: RunnerProcess, hazard: str, timeout_s: float, endings: set[Ending]
) -> None:
    beside = [*["one_of/nap", "one_of/one"] * 3, *["subtract/0", "add/0"] * 6]
    first, *others = runner.run_all(hazard, *beside, timeout_s=timeout_s)
    assert first.ending in endings
    assert [outcome.verdict for outcome in others] == [Verdict.passed] * len(beside)


def test_a_hang_gets_all_its_time_and_no_more(runner: RunnerProcess) -> None:
    hung, _ = runner.run_all("other_of/hang", "one_of/nap", timeout_s=6.0)
    assert hung.ending is Ending.timed_out
    assert 6.0 <= hung.duration_s < 8.0


def test_one_that_needs_more_than_its_share_of_the_memory_gets_it_alone(runner: RunnerProcess) -> None:
    outcome, *others = runner.run_all("hold_memory/400MB", *["one_of/nap"] * 3)
    assert [end.verdict for end in (outcome, *others)] == [Verdict.passed] * 4
    assert outcome.evidence is not None
    assert outcome.evidence.after_others is Repetition.failed_otherwise
    assert "beside cases of other processes: out of memory" in str(outcome.evidence.reason)


def test_what_waits_to_run_alone_can_be_cancelled(runner: RunnerProcess) -> None:
    hung, timed_job = runner.job("one_of/hang"), runner.job("add/0", timing="steady")
    runner.post(hung)
    runner.wait_started(hung["id"])
    runner.post(timed_job)
    assert runner.http.delete(f"/v1/jobs/{timed_job['id']}/1").status_code == 204
    assert runner.finished(1)[timed_job["id"]].ending is Ending.cancelled
    assert runner.http.delete(f"/v1/jobs/{hung['id']}/1").status_code == 204
    assert runner.finished(1)[hung["id"]].ending is Ending.cancelled


def test_cancelling_some_of_many_touches_no_other(runner: RunnerProcess) -> None:
    jobs = [runner.job(case) for case in ["one_of/one", "add/0", "subtract/0"] * 40]
    runner.post(*jobs)
    unwanted_ids = [job["id"] for job in jobs[::3]]
    for id in unwanted_ids:
        runner.http.delete(f"/v1/jobs/{id}/1")
    outcomes = runner.finished(len(jobs))
    assert {outcomes[id].ending for id in unwanted_ids} <= {Ending.cancelled, Ending.returned}
    assert {outcomes[job["id"]].ending for job in jobs if job["id"] not in unwanted_ids} == {Ending.returned}


def test_a_suite_is_charted_into_a_file_with_as_many(tmp_path: Path) -> None:
    functions = ("hazards.add", "hazards.subtract", "hazards.process_id", "hazards.segfault")
    header, *lines = bundles.lines_of(
        bundles.make(tmp_path / "b", "--slots", "2", functions=functions, runs=3).read_bytes()
    )
    assert header["runner"]["slots"] == 2
    assert len(lines) == header["runs"] * len(header["suite"]["cases"])
    endings = {(line["case"].rpartition("/")[0], line["outcome"]["ending"]) for line in lines}
    assert endings == {
        ("hazards.add", "returned"),
        ("hazards.add", "mismatched"),
        ("hazards.subtract", "returned"),
        ("hazards.process_id", "returned"),
        ("hazards.segfault", "signalled"),
    }
