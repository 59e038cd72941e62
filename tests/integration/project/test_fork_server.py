"""A process that the tests fork behaves like a newly started process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.fork_server import COORDINATOR_SERVER, ForkedProcess, ForkServer, call
from tests.runner_process import ROOT, alive, environment
from tests.waiting import LIMIT_S, until

SERVER = ForkServer("json")
SHOWN = (
    "import json, os, signal, sys; print(json.dumps([sys.argv, sys.path, dict(os.environ), os.getcwd(), os.getppid(), "
    "sys.stdin.read(), sys.stdout.isatty(), sys.stderr.errors, str(signal.getsignal(signal.SIGINT)), __name__, "
    "sorted(os.listdir('/proc/self/fd'))[:3], os.getpgid(0) == os.getpid(), 'tests' in sys.modules]))"
)
DIES_ALONE = (
    "import sys; from tests.fork_server import *; "
    "process = ForkedProcess(ForkServer('json'), [sys.executable, '-c', 'import time; time.sleep(600)']); "
    "print(process.pid, flush=True); process.wait()"
)


@pytest.mark.parametrize("new_session", [False, True])
def test_it_sees_what_a_started_process_sees(tmp_path: Path, new_session: bool) -> None:
    answers = []
    for server in (None, SERVER):
        process = ForkedProcess(
            server,
            [sys.executable, "-c", SHOWN, "an argument", b"\xff"],
            env=environment(OF_ITS_OWN="1"),
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=new_session,
        )
        output, complaint = process.communicate(b"a line\n", timeout=LIMIT_S)
        assert (process.returncode, complaint) == (0, b"")
        answers.append(json.loads(output))
    by_start, by_fork = answers
    assert by_start.pop() is False
    # It has modules of the tests, as it is a copy of a process of theirs.
    assert by_fork.pop() is True
    assert by_fork == by_start
    assert by_start[4] == os.getpid()


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("import sys; sys.exit(7)", 7),
        ("1 / 0", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import atexit; atexit.register(print, 'the end'); print('it works', end=', ')", 0),
    ],
)
def test_it_ends_as_a_started_process_ends(program: str, code: int) -> None:
    by_start, by_fork = (
        call(server, [sys.executable, "-c", program], environment(), "", LIMIT_S) for server in (None, SERVER)
    )
    assert (by_start.returncode, by_fork.returncode) == (code, code)
    assert by_fork.stdout == by_start.stdout
    assert by_fork.stderr.splitlines()[-1:] == by_start.stderr.splitlines()[-1:]


def test_it_gets_the_signals_that_it_is_sent() -> None:
    process = ForkedProcess(SERVER, [sys.executable, "-c", "import time; time.sleep(600)"])
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT_S) == -signal.SIGTERM


def test_it_dies_with_the_process_that_asked_for_it() -> None:
    variables = environment(PYTHONPATH=str(ROOT))
    with subprocess.Popen(
        [sys.executable, "-c", DIES_ALONE], env=variables, stdout=subprocess.PIPE, text=True
    ) as asker:
        assert asker.stdout is not None
        child_pid = int(asker.stdout.readline())
        family = [child.pid for child in psutil.Process(asker.pid).children()]
        assert child_pid in family
        assert len(family) == 2, "the server is the other"
        asker.kill()
    until(lambda: not any(map(alive, family)), "both are gone")


def test_what_is_read_before_our_code_runs_is_read_by_a_real_start() -> None:
    command = [sys.executable, "-m", "coordinator"]
    assert COORDINATOR_SERVER.can_fork(command, environment())
    assert not COORDINATOR_SERVER.can_fork(command, environment(PYTHONWARNINGS="error"))
    assert not COORDINATOR_SERVER.can_fork(command, environment(LD_PRELOAD="clock.so"))
    assert not COORDINATOR_SERVER.can_fork([sys.executable, "-P", *command[1:]], environment())
    assert not COORDINATOR_SERVER.can_fork(["/usr/bin/python3", *command[1:]], environment())
