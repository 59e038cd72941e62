"""Child processes of the command line: they end when it ends, however it ends.

The kernel stops a child when the *thread* that started it ends: start them from the main one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from coordinator.exec_with_parent_death_signal import dying_with_us

STOP_LIMIT_S = 10.0
LINES_KEPT = 50


class Child:
    """A process in a session of its own, so that Ctrl-C reaches it only through us.

    What it prints on stdout and stderr is kept as ``lines`` (the last few of both), and goes
    to ``log`` if there is one.
    """

    def __init__(
        self, command: Sequence[str], log: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)
        self.first_line: str | None = None
        """The first line on stdout."""
        self._complaints: deque[str] = deque(maxlen=LINES_KEPT)
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if log else None
        self._process = subprocess.Popen(
            dying_with_us(command, signal.SIGTERM),
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stdout, False), daemon=True),
            threading.Thread(target=self._read, args=(self._process.stderr, True), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ended(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        status = self._process.poll()
        if status is not None:
            self._settle()
        return status

    @property
    def complaint(self) -> str:
        """Its last line on stderr: what it died of, if it said so."""
        return self._complaints[-1].removeprefix("portolan-runner: ") if self._complaints else "it said nothing"

    def ask_to_stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def stop(self, limit_s: float = STOP_LIMIT_S) -> None:
        """End it, politely first. What it started it ends itself, or the kernel does."""
        self.ask_to_stop()
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._settle()

    def _settle(self) -> None:
        """Let the last words be read. A grandchild may hold the pipe open; it is not waited for."""
        for reader in self._readers:
            reader.join(1.0)
        if self._log is not None and not any(reader.is_alive() for reader in self._readers):
            os.close(self._log)
            self._log = None

    def _read(self, stream: IO[bytes], is_error: bool) -> None:
        with stream:
            for raw in stream:
                if self._log is not None:
                    with contextlib.suppress(OSError):
                        os.write(self._log, raw)
                text = raw.decode(errors="replace").strip()
                if not text:
                    continue
                self.lines.append(text)
                if is_error:
                    self._complaints.append(text)
                elif self.first_line is None:
                    self.first_line = text
