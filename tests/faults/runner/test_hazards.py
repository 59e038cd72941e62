"""A case with a bad behavior affects only its own outcome: the tests check this outcome, and that the next job
passes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from protocol.enums import Ending, Verdict
from tests.runner_process import RunnerProcess
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("fit_for_the_next")


def _run_case(runner: RunnerProcess, case: str, **fields: object) -> tuple[str, str]:
    outcome = runner.run(case, **fields)
    return outcome.verdict.value, outcome.ending.value


def test_an_exception_is_a_failure_with_type_message_and_frames(runner: RunnerProcess) -> None:
    outcome = runner.run("fail/0")
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.raised)
    assert outcome.evidence is not None
    assert outcome.evidence.exception == "builtins.RuntimeError"
    assert outcome.evidence.message == "on purpose"
    assert any("functions.py" in frame for frame in outcome.evidence.frames)


@pytest.mark.parametrize("worse", ["kill_itself", "hang", "close_descriptors"])
def test_a_repetition_that_does_worse_leaves_the_failure_as_it_was(runner: RunnerProcess, worse: str) -> None:
    outcome = runner.run(f"fail_then/{worse}", timeout_s=4)
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.raised)
    assert outcome.evidence is not None
    assert outcome.evidence.message == "the first time"


def test_text_that_cannot_be_stored_is_replaced(runner: RunnerProcess) -> None:
    outcome = runner.run("fail_with_odd_text/0")
    assert outcome.evidence is not None
    message = outcome.evidence.message or ""
    assert message.startswith("a NUL ")
    assert "\0" not in message
    message.encode()


@pytest.mark.parametrize(
    ("case", "exception"),
    [
        ("fail_with_base_exception/0", "hazards.functions.Unusual"),
        ("leave_by_sys_exit/0", "builtins.SystemExit"),
    ],
)
def test_what_is_no_exception_is_a_failure_too(runner: RunnerProcess, case: str, exception: str) -> None:
    outcome = runner.run(case)
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.raised)
    assert outcome.evidence is not None
    assert outcome.evidence.exception == exception


def test_nan_is_a_mismatch(runner: RunnerProcess) -> None:
    assert _run_case(runner, "not_a_number/0") == ("failed", "mismatched")


def test_a_wrong_value_is_a_mismatch(runner: RunnerProcess) -> None:
    assert _run_case(runner, "add/wrong") == ("failed", "mismatched")


def test_a_function_that_is_gone_is_removed(runner: RunnerProcess) -> None:
    assert _run_case(runner, "gone/0") == ("skipped", "removed")


def test_leaving_early_is_a_failure_even_with_exit_code_0(runner: RunnerProcess) -> None:
    outcome = runner.run("leave_by_os_exit/0")
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.exited)
    assert outcome.evidence is not None
    assert outcome.evidence.exit_code == 0


@pytest.mark.parametrize(("case", "signal"), [("segfault/0", "SIGSEGV"), ("kill_itself/0", "SIGKILL")])
def test_a_signal_is_named(runner: RunnerProcess, case: str, signal: str) -> None:
    outcome = runner.run(case)
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.signalled)
    assert outcome.evidence is not None
    assert outcome.evidence.signal == signal


def test_a_segfault_leaves_its_stack_in_the_log(runner: RunnerProcess) -> None:
    assert "functions.py" in runner.run("segfault/0").log_tail


@pytest.mark.parametrize("case", ["hang/0", "hang_holding_the_gil/0", "hang_ignoring_signals/0", "stop_itself/0"])
def test_a_hang_is_killed_at_its_deadline_and_within_a_second(runner: RunnerProcess, case: str) -> None:
    """The best of a few attempts counts, because on a busy machine a kill may be delayed."""
    runner.run("add/0")
    for _ in range(5):
        began = time.monotonic()
        outcome = runner.run(case, timeout_s=0.5)
        took = time.monotonic() - began
        assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.timed_out)
        assert outcome.duration_s >= 0.5
        if outcome.duration_s < 1.5 and took < 2.0:
            return
    pytest.fail(f"the last of five was said to take {outcome.duration_s:.2f} s, and took {took:.2f} s")


def test_a_call_that_came_back_in_time_passes_where_none_is_left_to_make_it_again(runner: RunnerProcess) -> None:
    """The call takes 0.2 s, and three calls would exceed the limit. The best of a few attempts counts, because a busy
    machine may delay the first call."""
    outcomes = (runner.run("nap/0", timeout_s=0.55) for _ in range(5))
    passed_outcome = next((outcome for outcome in outcomes if outcome.verdict is Verdict.passed), None)
    assert passed_outcome is not None
    assert passed_outcome.evidence is not None
    assert (passed_outcome.evidence.reason or "").startswith("the first call was right and took 0.2")


def test_the_rest_of_the_function_goes_on_in_a_new_process(runner: RunnerProcess) -> None:
    jobs = [runner.job(f"hang/{number}", timeout_s=0.3) for number in range(3)]
    runner.post(*jobs)
    outcomes = runner.finished(3)
    assert [outcomes[job["id"]].ending for job in jobs] == [Ending.timed_out] * 3


def test_memory_over_the_limit_is_out_of_memory(runner: RunnerProcess) -> None:
    outcome = runner.run("eat_memory/0")
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.out_of_memory)
    assert outcome.evidence is not None
    assert "600 MiB" in (outcome.evidence.reason or "")


def test_detached_children_go_with_the_case_that_left_them(runner: RunnerProcess, note: Path) -> None:
    assert runner.run("leave_children/0").verdict is Verdict.passed
    assert len(note.read_text().split()) >= 2


def test_detached_children_go_with_the_case_that_is_killed(runner: RunnerProcess, note: Path) -> None:
    assert _run_case(runner, "leave_children_and_hang/0", timeout_s=4.0) == ("failed", "timed_out")
    assert len(note.read_text().split()) >= 2


def _files(note: Path) -> list[Path]:
    """The files that a case wrote, their folder, and the folder for its temporary files, of three runs."""
    return [Path(part) for part in note.with_name("note.files").read_text().split()]


@pytest.mark.parametrize(
    ("case", "ending"), [("leave_files/0", Ending.returned), ("leave_files_and_die/0", Ending.signalled)]
)
def test_temporary_files_go_with_the_case_that_left_them(
    runner: RunnerProcess, note: Path, case: str, ending: Ending
) -> None:
    assert runner.run(case).ending == ending
    left, room, variable = _files(note)[-3:]
    assert left.parent == room == variable
    # The next function has a room of its own.
    runner.run("add/0")
    until(lambda: not room.exists(), "the room of the case is cleared")


def test_a_fork_bomb_is_killed_whole(runner: RunnerProcess) -> None:
    assert _run_case(runner, "fork_many/0", timeout_s=1.0) == ("failed", "timed_out")


@pytest.mark.parametrize(("case", "size"), [("print_much/10MB", 10 << 20), ("print_much/1GB", 1 << 30)])
def test_a_flood_is_counted_and_its_tail_kept(runner: RunnerProcess, case: str, size: int) -> None:
    outcome = runner.run(case)
    assert outcome.verdict is Verdict.passed
    assert outcome.log_bytes >= size
    assert len(outcome.log_tail) == 64 << 10
    assert outcome.log_tail.endswith("the last line\n")


def test_output_of_every_kind_is_kept(runner: RunnerProcess) -> None:
    tail = runner.run("print_everywhere/0").log_tail
    for source in ("from print", "from descriptor 1", "from descriptor 2", "from C"):
        assert source in tail


@pytest.mark.parametrize("case", ["close_descriptors/0", "replace_descriptors/0"])
def test_a_case_that_closes_its_channel_ends_as_exited(runner: RunnerProcess, case: str) -> None:
    outcome = runner.run(case)
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.exited)
    assert outcome.evidence is not None
    assert "channel" in (outcome.evidence.reason or "")


def test_a_case_that_kills_the_zygote_is_not_blamed_and_the_runner_recovers(runner: RunnerProcess) -> None:
    assert _run_case(runner, "kill_parent/0") == ("incomplete", "harness_failed")


def test_a_running_job_can_be_cancelled(runner: RunnerProcess) -> None:
    job = runner.job("hang_ignoring_signals/0")
    runner.post(job)
    runner.wait_started(job["id"])
    assert runner.http.delete(f"/v1/jobs/{job['id']}/1").status_code == 204
    outcome = runner.finished(1)[job["id"]]
    assert (outcome.verdict, outcome.ending) == (Verdict.incomplete, Ending.cancelled)
