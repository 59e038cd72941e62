"""A real runner that enrolls itself, and a relay between runner and coordinator that can be broken in each
direction."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.enrolment_tokens import EnrolmentToken
from tests.fork_server import RUNNER_SERVER, ForkedProcess
from tests.runner_process import environment, says_something
from tests.waiting import LIMIT_S, until


def token_of(key: str, name: str, target: str = "hazards/cpu") -> str:
    return str(EnrolmentToken.make(key, name, target))


class EnrollingRunner:
    """``portolan-runner serve --enrol`` of the hazards, with a token from this key. ``lines`` is its output."""

    def __init__(self, coordinator: str, key_file: Path, name: str, *options: str) -> None:
        self.name = name
        self.lines: list[str] = []
        token_file = key_file.with_name(f"token-of-{name}")
        token_file.write_text(token_of(key_file.read_text().strip(), name))
        self.process = ForkedProcess(
            RUNNER_SERVER,
            [
                *(sys.executable, "-m", "runners", "serve", "hazards", "cpu", "--port", "0", "--enrol", coordinator),
                *("--enrolment-token-file", str(token_file), "--name", name, *options),
            ],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self.process.stdout is not None
        assert says_something(self.process.stdout), "the runner says nothing"
        line = self.process.stdout.readline()
        self.ready: dict[str, Any] = json.loads(line) if line else {}

    def wait_says(self, words: str) -> None:
        def says() -> bool:
            ended = self.process.poll() is not None
            if ended:
                self._reader.join(LIMIT_S)
            said = any(words in line for line in self.lines)
            assert said or not ended, self.lines
            return said

        until(says, f"the runner says {words!r}")

    def refused(self) -> str:
        """The one error line with which the runner ends."""
        assert self.process.wait(LIMIT_S) == 2, self.lines
        self._reader.join(LIMIT_S)
        return self.lines[-1]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(LIMIT_S)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(LIMIT_S)
        finally:
            self.process.kill()
            self._reader.join(LIMIT_S)
            assert self.process.stdout is not None
            self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                self.lines.append(line.rstrip("\n"))


class Relay:
    """Passes connections on to ``port``. ``on_answer`` receives each piece that comes back; if it returns False, the
    connection is broken."""

    def __init__(self, port: int, on_answer: Callable[[bytes], bool]) -> None:
        self._port = port
        self._on_answer = on_answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listening.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._pass_on, args=(caller,))
            self._threads.append(thread)
            thread.start()

    def _pass_on(self, caller: socket.socket) -> None:
        try:
            callee = socket.create_connection(("127.0.0.1", self._port))
        except OSError:
            caller.close()
            return
        forth = threading.Thread(target=_pour, args=(caller, callee, lambda piece: True))
        forth.start()
        _pour(callee, caller, self._on_answer)
        forth.join(LIMIT_S)
        caller.close()
        callee.close()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(10)


def _pour(source: socket.socket, sink: socket.socket, passes: Callable[[bytes], bool]) -> None:
    """Copy bytes until one side ends, and then end both."""
    try:
        while (piece := source.recv(1 << 16)) and passes(piece):
            sink.sendall(piece)
    except OSError:
        pass
    for writer in (source, sink):
        try:
            writer.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue
