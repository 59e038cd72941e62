"""Child processes of the command line. They end when the command line ends, even if it is killed.

The kernel stops a child when the *thread* that started it ends. So children must be started from the main thread.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from io import FileIO
from typing import IO

from coordinator.operating_system.exec_with_parent_death_signal import dying_with_us
from protocol.redaction import without_own_secrets

STOP_LIMIT_S = 10.0


class ChildProcess:
    """A process in its own session, so that Ctrl-C reaches it only through this program.

    With a ``log``, the lines that the process writes to stdout and stderr are written to the log.
    """

    def __init__(self, command: Sequence[str], log: FileIO | None = None) -> None:
        self.first_line: str | None = None
        """The first line on stdout."""
        self.latest_line = ""
        """The latest line on stdout or stderr."""
        self.complaint = "it printed nothing on stderr"
        """The latest line on stderr, which may say why the process ended."""
        self._log = log or FileIO(os.devnull, "wb")
        self._process = subprocess.Popen(
            dying_with_us(command, signal.SIGTERM),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=without_own_secrets({**os.environ}),
            start_new_session=True,
        )
        self._readers = [
            threading.Thread(target=self._read, args=(stream, stream is self._process.stderr), daemon=True)
            for stream in (self._process.stdout, self._process.stderr)
        ]
        for reader in self._readers:
            reader.start()

    def exit_status(self) -> int | None:
        """Return the exit code, negative for a signal; None while the process runs."""
        status = self._process.poll()
        if status is not None:
            self._settle()
        return status

    def wait(self) -> int:
        """Wait for the end of the process and return its exit code, negative for a signal."""
        status = self._process.wait()
        self._settle()
        return status

    def ask_to_stop(self, number: int = signal.SIGTERM) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Send the signal to the process, and kill its session if it does not end in time. The process, or the kernel,
        ends its children."""
        self.ask_to_stop(number)
        try:
            self._process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._settle()

    def _settle(self) -> None:
        """Read the last lines of output, without waiting for grandchildren that keep the pipe open."""
        for reader in self._readers:
            reader.join(1.0)
        if not any(reader.is_alive() for reader in self._readers):
            self._log.close()

    def _read(self, stream: IO[bytes], is_error: bool) -> None:
        with stream:
            for raw in stream:
                with contextlib.suppress(OSError):
                    self._log.write(raw)
                text = raw.decode(errors="replace").strip()
                if not text:
                    continue
                self.latest_line = text
                if is_error:
                    self.complaint = text.removeprefix("portolan-runner: ")
                elif self.first_line is None:
                    self.first_line = text
