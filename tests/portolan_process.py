"""The command line in separate processes: ``portolan up``, and other commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil

from tests.admin import ADMIN_TOKEN
from tests.fork_server import COORDINATOR_SERVER, ForkedProcess, ForkServer, call
from tests.runner_process import environment
from tests.waiting import LIMIT_S, until

COMMAND = [sys.executable, "-c", "import sys; from coordinator.cli import main; sys.exit(main())"]
CALL_LIMIT_S = 300.0
UP_LIMIT_S = 300.0


class Portolan:
    """Calls commands with one data directory: in forks after the imports, or with ``real`` in a new Python process."""

    def __init__(self, directory: Path, *, real: bool = False, **variables: str) -> None:
        self.directory = directory
        self.real = real
        if "PORTOLAN_URL" in variables:
            # This coordinator is one of the tests. An instance of the command line has a token in its data directory.
            variables = {"PORTOLAN_TOKEN": ADMIN_TOKEN, **variables}
        self.variables = environment(PORTOLAN_DATA=str(directory), **variables)

    def call(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        server = None if self.real else COORDINATOR_SERVER
        return call(server, [*COMMAND, *arguments], self.variables, stdin, CALL_LIMIT_S)

    def ask(self, *arguments: str) -> str:
        """The output of a command that succeeds."""
        done = self.call(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *arguments: str) -> str:
        """The one-line message of a command that fails."""
        done = self.call(*arguments)
        assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        return line

    def up(self, *options: str, real: bool = False) -> Up:
        return Up(self, options, None if real or self.real else COORDINATOR_SERVER)

    def demo(self, *options: str) -> Up:
        """A demo with known verdicts, which times its cases."""
        return Up(self, options, None if self.real else COORDINATOR_SERVER, command="demo")


class Up:
    """``portolan up`` in the background, or another command that prints Ctrl-C. ``lines`` is its output so far."""

    def __init__(
        self, portolan: Portolan, options: tuple[str, ...], server: ForkServer | None, command: str = "up"
    ) -> None:
        self.lines: list[str] = []
        self.process = ForkedProcess(
            server,
            [*COMMAND, command, *options],
            env=portolan.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        try:
            self.wait_says("Ctrl-C")
        except BaseException:
            self.stop()
            raise

    @property
    def said(self) -> str:
        return "\n".join(self.lines)

    def wait_says(self, words: str) -> None:
        """Wait for a line with these words. Fails immediately if the process ends without it."""

        def says() -> bool:
            ended = self.process.poll() is not None
            if ended:
                self._reader.join(LIMIT_S)
            assert words in self.said or not ended, "it ended"
            return words in self.said

        try:
            until(says, f"`up` says {words!r}", UP_LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; it said:\n{self.said}") from None

    def family(self) -> list[psutil.Process]:
        """The process and all its descendants at this moment."""
        head = psutil.Process(self.process.pid)
        return [head, *head.children(recursive=True)]

    def runner(self) -> psutil.Process:
        """The supervisor of the instance's only runner."""
        (found,) = [process for process in self.family() if "serve" in process.cmdline()]
        return found

    def close_reader(self) -> None:
        """Stop reading the output, as if the other end of a pipe were interrupted."""
        assert self.process.stdout is not None
        os.dup2(os.open(os.devnull, os.O_RDONLY), self.process.stdout.fileno())

    def stop(self, number: int = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(LIMIT_S)
        self._reader.join(LIMIT_S)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                self.lines.append(line.rstrip("\n"))


def wait_gone(family: list[psutil.Process]) -> None:
    """Wait until none of these processes runs any more."""
    _, left = psutil.wait_procs(family, timeout=LIMIT_S)
    assert not [process for process in left if process.status() != psutil.STATUS_ZOMBIE], left
