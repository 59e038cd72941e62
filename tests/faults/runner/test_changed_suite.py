"""A user's suite is edited while its runner serves it. No case runs under a revision to which it does not belong."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.own_suite import BOTH, MODULE, write_module
from tests.runner_process import RunnerProcess
from tests.waiting import LIMIT_S


@pytest.mark.parametrize("decides_a_result", [False, True])
def test_a_new_zygote_runs_no_case_of_another_revision(tmp_path: Path, decides_a_result: bool) -> None:
    file = write_module(tmp_path)
    running = RunnerProcess("--suite", str(file), real=True)
    try:
        edited_module = MODULE.replace("normal(4)", "normal(5)") if decides_a_result else f"# Sums.\n{MODULE}"
        file.write_text(edited_module)
        os.kill(running.zygote().pid, signal.SIGKILL)
        job = running.job("") | {"case": BOTH[0]}
        assert running.post(job) == ["queued"]
        if not decides_a_result:
            (outcome,) = running.finished(1).values()
            assert outcome.verdict == "passed"
            return
        assert running.process.wait(LIMIT_S) == 2
        assert running.process.stderr is not None
        (line,) = running.process.stderr.read().splitlines()
        assert "the source of a suite has changed since the runner started; start the runner again" in line
    finally:
        running.stop()
