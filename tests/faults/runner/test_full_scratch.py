"""The disk for temporary files is not writable for a while. The runner waits, and then continues."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.enums import Verdict
from tests.runner_process import RunnerProcess, alive
from tests.small_disk import SmallDisk
from tests.waiting import until


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "scratch", 8 << 20, "1777")
    yield disk
    disk.close()


def set_writable(disk: SmallDisk, writable: bool) -> None:
    if disk.mounted:
        disk.remount("rw" if writable else "ro")
    else:
        disk.path.chmod(0o700 if writable else 0o500)


def test_a_runner_waits_for_a_disk_that_cannot_be_written_to(disk: SmallDisk) -> None:
    running = RunnerProcess(TMPDIR=str(disk.path))
    try:
        assert running.run("add/0").verdict is Verdict.passed
        zygote = running.zygote().pid
        set_writable(disk, False)
        os.kill(zygote, signal.SIGKILL)
        until(lambda: not alive(zygote), "the zygote is gone")
        job = running.job("add/0")
        running.post(job)
        # A runner that gives up ends at its first try, which comes at once.
        with pytest.raises(subprocess.TimeoutExpired):
            running.process.wait(5.0)
        set_writable(disk, True)
        # The job came before or after the runner saw that the zygote is dead. Before: its zygote
        # died under it, for which no device can be blamed. After: it waited for the next one.
        assert running.finished(1)[job["id"]].verdict in {Verdict.incomplete, Verdict.passed}
        assert running.run("add/0").verdict is Verdict.passed
    finally:
        running.stop()
