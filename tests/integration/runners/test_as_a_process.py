"""The isolation of a runner that is a plain process of its host: it has its user's rights, and accepts no connection
from other machines."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner_process import RunnerProcess

RIGHTS = ("Uid", "CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp")
SECRET = "open sesame"


@pytest.fixture(scope="module")
def runner() -> Iterator[RunnerProcess]:
    runner = RunnerProcess(real=True, PORTOLAN_RUNNER_SECRET=SECRET)
    runner.run("add/0")
    yield runner
    runner.stop()


def rights(pid: int | str) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines) if name in RIGHTS}


def test_a_runner_has_what_its_user_has(runner: RunnerProcess) -> None:
    """User, capabilities, possible privileges and seccomp are not restricted, so a case has all of its user's
    rights."""
    own = rights("self")
    assert set(own) == set(RIGHTS)
    assert [rights(pid) for pid in (runner.pid, runner.zygote().pid)] == [own, own]


def test_its_secret_is_not_passed_on_to_the_processes_of_cases(runner: RunnerProcess) -> None:
    below = runner.below()
    assert below
    assert not any(SECRET.encode() in Path(f"/proc/{process.pid}/environ").read_bytes() for process in below)


def test_it_listens_for_this_host_alone_unless_told_otherwise(runner: RunnerProcess) -> None:
    port = int(runner.ready["url"].rpartition(":")[2])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward:
        outward.connect(("192.0.2.1", 9))  # nothing is sent: it only chooses our own address
        outer = outward.getsockname()[0]
    socket.create_connection(("127.0.0.1", port), 5.0).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((outer, port), 5.0)
