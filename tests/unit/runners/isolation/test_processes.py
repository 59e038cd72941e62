"""Finding and killing processes: real ones, forked here."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.isolation import processes
from runners.isolation.memory import parse_size
from runners.isolation.processes import PidCounter, Process

FAMILY = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
read, write = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        os.fork()
        os.write(write, b"x")
        time.sleep(3600)
there = 0
while there < 6:
    there += len(os.read(read, 6))
print("ready", flush=True)
time.sleep(3600)
"""


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        members = processes.descendants([parent.pid], processes.snapshot())
        yield parent
        for member in members:
            processes.send(member, signal.SIGKILL)


def test_descendants_follow_every_generation() -> None:
    table = {pid: Process(pid, parent, "S", 0) for pid, parent in ((2, 1), (3, 2), (4, 3), (5, 1), (6, 5))}
    assert {process.pid for process in processes.descendants([2], table)} == {2, 3, 4}
    assert {process.pid for process in processes.descendants([9], table)} == set()


def test_kill_takes_sessions_of_their_own_and_ignored_signals(family: subprocess.Popen[bytes]) -> None:
    members = processes.descendants([family.pid], processes.snapshot())
    assert len(members) == 7
    known_processes = {(member.pid, member.started) for member in members}

    def find(table: dict[int, Process]) -> list[Process]:
        return [process for process in table.values() if (process.pid, process.started) in known_processes]

    assert processes.kill(find, limit_s=60)  # type: ignore[arg-type]
    again = [processes.look(member.pid) for member in members]
    assert not [process for process in again if process and process.alive]


def test_a_reused_pid_is_never_signalled(family: subprocess.Popen[bytes]) -> None:
    now = processes.look(family.pid)
    assert now is not None
    assert not processes.send(Process(now.pid, now.parent, now.state, now.started - 1), 9)
    assert family.poll() is None


def test_children_are_the_direct_ones(family: subprocess.Popen[bytes]) -> None:
    assert len(processes.children(family.pid)) == 3


def test_the_last_pid_tells_that_a_process_was_started() -> None:
    pids = PidCounter()
    before = pids.read()
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert pids.read() != before or before is None
    pids.close()
    assert pids.read() is None


def test_a_kernel_without_that_file_tells_no_last_pid(tmp_path: Path) -> None:
    assert PidCounter(str(tmp_path / "not-there")).read() is None


def test_memory_of_a_family_is_counted_together(family: subprocess.Popen[bytes]) -> None:
    assert processes.hold_more_than(1 << 20, family.pid)
    assert not processes.hold_more_than(1 << 40, family.pid)


@pytest.mark.parametrize(("text", "size"), [("512M", 512 << 20), ("1.5g", 3 << 29), ("2 GiB", 2 << 30), ("77", 77)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1G", "many", "1X"])
def test_what_is_no_size_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="512M or 2G"):
        parse_size(text)
