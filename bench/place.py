"""The child processes and the temporary folder of a bench. They are stopped and deleted when the bench ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

PROJECT = Path(__file__).resolve().parent.parent
T = TypeVar("T")

START_LIMIT_S = 120.0
STOP_LIMIT_S = 20.0


class CannotRunError(Exception):
    """Raised if the bench cannot run here. The message says in one line why, and what to do."""


def say(bench: str, what: str) -> None:
    print(f"{bench}: {what}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield a temporary folder that other users, such as PostgreSQL's, can enter."""
    path = Path(tempfile.mkdtemp(prefix="portolan-bench-"))
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def process(
    command: Sequence[str], log: Path, variables: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child that can import the project, and stop it at the end of the block. Its output goes to ``log``."""
    with open(log, "ab") as stream:
        child = subprocess.Popen(
            command,
            cwd=PROJECT,
            env={**os.environ, "PYTHONPATH": str(PROJECT), **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def wait_until(look: Callable[[], T | None], child: subprocess.Popen[bytes], log: Path) -> T:
    """Poll until ``look`` returns a value. Raises ``CannotRunError`` with the last line of the child's output if the
    child ends first."""
    give_up = time.monotonic() + START_LIMIT_S
    while (value := look()) is None:
        if child.poll() is not None or time.monotonic() > give_up:
            words = log.read_text(errors="replace").strip().splitlines()[-1:] or ["no output"]
            program = Path(str(child.args[0])).name  # type: ignore[index]
            raise CannotRunError(f"{program} did not start ({words[0]}): read the reason in {log}")
        time.sleep(0.02)
    return value


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
