"""Timed sections of one host hold one lock; nobody is charged for waiting for it."""

from __future__ import annotations

import fcntl
from pathlib import Path

from protocol.enums import Ending, Verdict
from protocol.events import Heartbeat
from tests.runner_process import RunnerProcess


def test_waiting_for_the_timing_lock_is_stored_and_not_charged(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    running = RunnerProcess(PORTOLAN_TIMING_LOCK=str(lock))
    try:
        with lock.open("w") as lock_file:
            fcntl.flock(lock_file, fcntl.LOCK_EX)
            job = running.job("add/0", timing="steady", timeout_s=5.0)
            running.post(job)
            with running.stream() as events:
                beats = (event for event in events if isinstance(event, Heartbeat) and event.running)
                _, (waiting,) = next(beats).running, next(beats).running
            assert waiting.elapsed_s < 5.0
        (outcome,) = running.finished(1).values()
        assert outcome.verdict is Verdict.passed
        assert outcome.timing.lock_wait_ms > 5_000
        assert outcome.duration_s < 5.0
        assert lock.stat().st_mode & 0o600
        assert running.run("add/1").verdict is Verdict.passed
    finally:
        running.stop()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Whoever may write to the folder could lead a runner of root's to any file."""
    aim, lock = tmp_path / "aim", tmp_path / "lock"
    aim.touch(mode=0o600)
    lock.symlink_to(aim)
    running = RunnerProcess(PORTOLAN_TIMING_LOCK=str(lock))
    try:
        outcome = running.run("add/0", timing="steady")
    finally:
        running.stop()
    assert outcome.ending is Ending.harness_failed
    assert "name a file in PORTOLAN_TIMING_LOCK" in outcome.evidence.reason
    assert aim.stat().st_mode & 0o777 == 0o600
