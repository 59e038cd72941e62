"""A case kills the zygote while the zygote is creating the process of another case. The other case is not blamed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from protocol.enums import Ending, Verdict
from tests.runner_process import PATHS, RunnerProcess
from tests.waiting import until

PAUSING = """
import os, sys, time
os_fork, folder = os.fork, os.path.dirname(__file__)
def pause(moment):
    while os.path.exists(folder + "/" + moment):
        open(folder + "/reached", "w").close()
        time.sleep(0.01)
def fork():
    pause("before the fork")
    pid = os_fork()
    if pid == 0:
        pause("after the fork")
    return pid
if "runners.isolation.zygote" in sys.orig_argv:
    os.fork = fork
"""


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("moment", ["before the fork", "after the fork"])
def test_a_case_that_had_not_begun_is_run(tmp_path: Path, moment: str, slots: int) -> None:
    (tmp_path / "sitecustomize.py").write_text(PAUSING)
    runner = RunnerProcess("--slots", str(slots), PYTHONPATH=os.pathsep.join([str(tmp_path), *PATHS]))
    try:
        zygote = runner.below()[0].pid
        (tmp_path / moment).touch()
        jobs = [runner.job("add/0"), runner.job("subtract/0")]
        runner.post(*jobs)
        until((tmp_path / "reached").exists, f"a process has come to the moment {moment}")
        os.kill(zygote, signal.SIGKILL)
        # On a busy machine it may live for a moment longer, in which its child would begin the case.
        until(lambda: zygote not in {process.pid for process in runner.below()}, "the zygote is dead")
        (tmp_path / moment).unlink()
        outcomes = runner.finished(len(jobs)).values()
        assert [(outcome.ending, outcome.verdict) for outcome in outcomes] == [(Ending.returned, Verdict.passed)] * 2
    finally:
        runner.stop()
