"""For a while no process can be started, for example because killed processes of a case still count.

A limit on processes does not bind a superuser. So only the fork of the zygote is refused, with the kernel's error.
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
