"""No process can be started for a while, as when those that a case left are killed and not yet buried.

A limit of processes binds no superuser, so the fork of the zygote, and of it alone, is refused as the kernel does.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from protocol.enums import Verdict
from tests.runner_process import PATHS, RunnerProcess
from tests.waiting import until

REFUSING = f"""
import os, sys
os_fork, folder = os.fork, os.path.dirname(__file__)
def fork():
    if os.path.exists(folder + "/full"):
        with open(folder + "/tries", "a") as file:
            file.write("x")
        raise BlockingIOError({errno.EAGAIN}, os.strerror({errno.EAGAIN}))
    return os_fork()
if "runners.isolation.zygote" in sys.orig_argv:
    os.fork = fork
"""
TRIES = 3


def test_a_case_waits_until_its_process_can_be_started(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(REFUSING)
    runner = RunnerProcess(PYTHONPATH=os.pathsep.join([str(tmp_path), *PATHS]))
    try:
        first = runner.run("add/0")
        zygote = runner.below()[0]
        (tmp_path / "full").touch()
        job = runner.job("subtract/0")
        runner.post(job)
        tries = tmp_path / "tries"
        until(lambda: tries.exists() and len(tries.read_text()) >= TRIES, "it has tried several times")
        (tmp_path / "full").unlink()
        assert [first.verdict, runner.finished(1)[job["id"]].verdict] == [Verdict.passed, Verdict.passed]
        assert zygote in runner.below(), "the framework was not imported again"
    finally:
        runner.stop()
