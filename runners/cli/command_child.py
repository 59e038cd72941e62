"""Runs a user's command in a child with a recorder or a watcher, until its end, its deadline or Ctrl-C.

The child reports each call immediately, so that no report is lost if the child crashes, hangs or is killed.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runners import frameworks
from runners.errors import RecordingError
from runners.isolation import fork_server, processes
from runners.isolation.fork_server import Interpreter
from runners.recording.command import Command
from runners.settings import inherited_variables

CHILD = "runners.recording.child"
_PIECE = 1 << 16
_LOOK_EVERY_S = 0.2
FAILED, LATE, INTERRUPTED = 1, 3, 130
"""The exit codes for a command that failed, was killed at its deadline, or was ended by Ctrl-C."""


@dataclass(frozen=True)
class CommandOrder:
    """The command line options of one recording or watched run."""

    framework: str
    device: str
    interpreter: Interpreter
    command: Command
    words: Sequence[str]
    """The command line as the user typed it."""
    out: Path
    timeout_s: float


@dataclass
class ReportedEntry:
    """An entry that the child reported, with its call sites. An entry is a distinct call, a crossing (between host and
    device), a reason why calls were not recorded, a fallback or an error."""

    kind: str
    facts: dict[str, Any]
    seconds: float = 0.0
    sites: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class ChildReport:
    """Everything that a child has reported so far."""

    version: str | None = None
    broken: str | None = None
    notes: list[str] = field(default_factory=list)
    entries: dict[int, ReportedEntry] = field(default_factory=dict)

    def take(self, line: bytes) -> None:
        match json.loads(line):
            case {"entry": int(number), "kind": str(kind), "facts": dict(facts)}:
                self.entries[number] = ReportedEntry(kind, facts)
            case {"entry": int(number), "more": dict(facts)}:
                self.entries[number].facts.update(facts)
            case {"counts": list(counts)}:
                for number, seconds, sites in counts:
                    entry = self.entries[number]
                    entry.seconds = seconds
                    entry.sites = [{"file": file, "line": line, "count": count} for file, line, count in sites]
            case {"note": str(sentence)}:
                self.notes.append(sentence)
            case {"version": str(version)}:
                self.version = version
            case {"type": "broken", "reason": str(reason)}:
                self.broken = reason

    def of_kind(self, kind: str) -> Iterator[ReportedEntry]:
        return (entry for entry in self.entries.values() if entry.kind == kind and entry.sites)


@dataclass(frozen=True)
class Ended:
    """How the command ended."""

    exit_code: int | None
    """The command's own exit code; None if it was killed at its deadline."""
    words: str
    code: int
    """The exit code that ``portolan-runner`` returns for this ending."""


def run_child(order: CommandOrder, job: str, variables: Mapping[str, str] = {}) -> tuple[Ended, ChildReport]:
    """Run the command until its end, its deadline or Ctrl-C. Raises ``RecordingError`` if it did not begin.

    ``job`` is one of the kinds of jobs that ``runners.recording.child`` accepts. ``variables`` are set in addition to
    the device's.
    """
    report = ChildReport()
    ended = _run(order, job, variables, report)
    if report.version is None:
        raise RecordingError(
            report.broken
            or f"{order.interpreter.path} ended before the command began: check that it starts, and that "
            f"{order.framework} is installed in it"
        )
    return ended, report


def _run(order: CommandOrder, job: str, variables: Mapping[str, str], report: ChildReport) -> Ended:
    ours, theirs = os.pipe()
    device = frameworks.variables(frameworks.load(order.framework), order.device)
    command = order.command
    try:
        process = subprocess.Popen(
            [
                order.interpreter.path, *command.options, str(fork_server.LAUNCHER), CHILD, str(theirs),
                order.framework, job, command.kind, command.target, *command.arguments,
            ],
            env={**fork_server.environment(inherited_variables()), **device, **variables},
            pass_fds=[theirs],
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        os.close(ours)
        raise RecordingError(
            f"{order.interpreter.path} cannot be run ({error.strerror}): name another Python with --python"
        ) from error
    finally:
        os.close(theirs)
    lines = ChildLines(ours, process)
    early_end: Ended | None = None
    with noting_interrupts() as interrupts:
        try:
            _take(lines.until(time.monotonic() + order.timeout_s, interrupts), report)
            if interrupts:
                early_end = Ended(None, "the command was interrupted", INTERRUPTED)
            elif process.poll() is None:
                early_end = Ended(None, f"the command was killed after {order.timeout_s:g} s", LATE)
        finally:
            _end(process)
            # The pipe may hold reports that have not been read yet.
            _take(lines.until(math.inf), report)
            os.close(ours)
    code = process.returncode
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return early_end or Ended(code, f"the command ended with {how}", FAILED if code else 0)


@contextmanager
def noting_interrupts() -> Iterator[Sequence[int]]:
    """Collect the SIGINT signals of Ctrl-C in the block. A ``KeyboardInterrupt`` while a report is read would lose the
    report."""
    signals: list[int] = []
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield signals
        return
    before = signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    try:
        yield signals
    finally:
        signal.signal(signal.SIGINT, before)


def _take(lines: Iterable[bytes], report: ChildReport) -> None:
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            report.take(line)


class ChildLines:
    """The lines of a pipe until its process ends."""

    def __init__(self, pipe: int, process: subprocess.Popen[bytes]) -> None:
        self._pipe = pipe
        self._process = process
        self._rest = b""

    def until(self, deadline: float, interrupts: Sequence[int] = ()) -> Iterator[bytes]:
        """Yield lines until the process ends, the deadline passes, or ``interrupts`` has a signal. Processes that the
        command left running may keep the pipe open, but are not waited for."""
        while time.monotonic() < deadline and not interrupts:
            while b"\n" in self._rest:
                line, self._rest = self._rest.split(b"\n", 1)
                yield line
            has_ended = self._process.poll() is not None
            ready, _, _ = select.select([self._pipe], [], [], 0.0 if has_ended else _LOOK_EVERY_S)
            piece = os.read(self._pipe, _PIECE) if ready else b""
            self._rest += piece
            if not piece and has_ended:
                return
            if not piece and ready:
                # The pipe is closed, and the command continues without a recorder.
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_LOOK_EVERY_S)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the command if it still runs, and all processes that it started."""
    if process.poll() is None:
        processes.kill(lambda table: processes.descendants([process.pid], table))
    process.wait()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
