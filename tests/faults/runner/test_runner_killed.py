"""A runner that is killed leaves no process behind, whichever of its processes dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.isolation import processes
from tests.runner_process import RunnerProcess, alive, environment
from tests.waiting import LIMIT_S, until


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / "note"


@pytest.fixture
def runner(note: Path) -> Iterator[RunnerProcess]:
    running = RunnerProcess(HAZARDS_NOTE=str(note))
    yield running
    running.stop()


@pytest.fixture
def busy(runner: RunnerProcess, note: Path) -> list[int]:
    """All processes of a runner with a hanging case that has detached children."""
    job = runner.job("leave_children_and_hang/0")
    runner.post(job)
    until(lambda: note.exists() and len(note.read_text().split()) >= 2, "the case has left its children")
    # The zygote, the case, and its two; who stood between one of them and the case has gone.
    until(lambda: len(runner.below()) == 4, "the children are detached")
    return [process.pid for process in runner.below()]


def test_sigterm_ends_everything_at_once(runner: RunnerProcess, busy: list[int]) -> None:
    assert runner.stop() == 0
    assert not [pid for pid in busy if alive(pid)]


def test_ctrl_c_while_it_is_idle(runner: RunnerProcess) -> None:
    below = [process.pid for process in runner.below()]
    runner.process.send_signal(signal.SIGINT)
    assert runner.process.wait(LIMIT_S) == 0
    assert not [pid for pid in below if alive(pid)]


def test_kill_9_of_the_supervisor_takes_everything_below(runner: RunnerProcess, busy: list[int]) -> None:
    runner.process.kill()
    runner.process.wait(LIMIT_S)
    until(lambda: not [pid for pid in busy if alive(pid)], "everything below the runner is gone")


def test_kill_9_of_the_zygote_costs_the_case_only(runner: RunnerProcess, busy: list[int]) -> None:
    os.kill(runner.zygote().pid, signal.SIGKILL)
    (outcome,) = runner.finished(1).values()
    assert outcome.ending == "harness_failed"
    until(lambda: not [pid for pid in busy if alive(pid)], "everything below the zygote is gone")
    assert runner.run("add/0").verdict == "passed"


def test_what_two_kills_at_once_leave_is_killed_by_the_next_start(tmp_path: Path) -> None:
    """Supervisor and zygote are killed at the same instant, so orphans can be recognized only by their mark."""
    mark = f"999999999.1.{os.stat('/proc/self/ns/pid').st_ino}"
    with subprocess.Popen(["sleep", "3600"], env=environment(**{processes.MARK: mark})) as orphan:
        until(lambda: processes.mark_of(orphan.pid) == mark, "the orphan has its mark")
        running = RunnerProcess()
        try:
            assert orphan.wait(LIMIT_S) == -signal.SIGKILL
        finally:
            running.stop()


def test_a_running_runners_processes_are_not_anothers_orphans(runner: RunnerProcess, busy: list[int]) -> None:
    other = RunnerProcess()
    other.stop()
    assert all(alive(pid) for pid in busy)


def test_no_temporary_file_outlives_a_runner_that_ends(tmp_path: Path) -> None:
    running = RunnerProcess(TMPDIR=str(tmp_path), HAZARDS_NOTE=str(tmp_path / "note"))
    running.run("leave_files/0")
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()]
    assert running.stop() == 0
    assert not [path.name for path in tmp_path.iterdir() if path.is_dir()]


def test_what_killed_runners_left_on_disk_is_deleted_by_the_next_start(tmp_path: Path) -> None:
    first = RunnerProcess(TMPDIR=str(tmp_path))
    (left,) = tmp_path.iterdir()
    below = [process.pid for process in first.below()]
    os.kill(first.zygote().pid, signal.SIGSTOP)
    first.process.kill()
    first.stop()
    assert left.exists()
    second = RunnerProcess(TMPDIR=str(tmp_path))
    try:
        assert not left.exists()
        assert not [pid for pid in below if alive(pid)]
        (its,) = tmp_path.iterdir()
        third = RunnerProcess(TMPDIR=str(tmp_path))
        third.stop()
        # A living runner's stay.
        assert list(tmp_path.iterdir()) == [its]
    finally:
        second.stop()


def test_a_runner_that_finds_no_room_for_temporary_files_says_so(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    nowhere.write_text("")
    code = f"import tempfile; tempfile.tempdir = {str(nowhere)!r}; from runners.cli import main; exit(main())"
    command = [sys.executable, "-c", code, "serve", "hazards", "cpu", "--port", "0"]
    process = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert "no space for temporary files" in line
