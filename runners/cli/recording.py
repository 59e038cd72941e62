"""``portolan-runner record``: a user's command in a child under a recorder, and what it called as a file.

The child tells each distinct call at once. So one that crashes, hangs or is killed leaves what was recorded by then.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from protocol.model import first_fault
from protocol.recording import Recording
from runners import frameworks
from runners.errors import RecordingError, UsageError
from runners.isolation import fork_server, processes
from runners.isolation.fork_server import Interpreter
from runners.recording.command import Command
from runners.settings import inherited
from runners.suite.recording.book import CALL, CROSSING, LEFT_OUT

CHILD = "runners.recording.child"
_PIECE = 1 << 16
_LOOK_EVERY_S = 0.2
EAGER = {"TORCHDYNAMO_DISABLE": "1"}
"""Compiled code is recorded as what it is compiled from: the calls of the user's own."""
MOST_NOTES = 3
FAILED, LATE, INTERRUPTED = 1, 3, 130
"""Exit codes where the command failed, was killed at its deadline, or was ended by Ctrl-C."""


@dataclass(frozen=True)
class RecordOrder:
    """The options of one recording."""

    framework: str
    interpreter: Interpreter
    command: Command
    words: Sequence[str]
    """The command as it was typed."""
    out: Path
    timeout_s: float
    with_values: bool


@dataclass
class _Entry:
    kind: str
    facts: dict[str, Any]
    seconds: float = 0.0
    sites: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class _Told:
    """All that a child has told so far."""

    version: str | None = None
    broken: str | None = None
    notes: list[str] = field(default_factory=list)
    entries: dict[int, _Entry] = field(default_factory=dict)

    def take(self, line: bytes) -> None:
        match json.loads(line):
            case {"entry": int(number), "kind": str(kind), "facts": dict(facts)}:
                self.entries[number] = _Entry(kind, facts)
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

    def of_kind(self, kind: str) -> Iterator[_Entry]:
        return (entry for entry in self.entries.values() if entry.kind == kind and entry.sites)


def record(order: RecordOrder) -> int:
    """Run the command and write its recording; returns the exit code. Raises ``RecordingError`` if there is none."""
    declared = frameworks.load(order.framework)
    if declared.recorder is None:
        raise UsageError(f"the calls of {order.framework} cannot be recorded; those of jax, tensorflow and torch can")
    _require_writable(order.out)
    begun, moment, told = time.monotonic(), datetime.now(UTC), _Told()
    ended = _run_child(order, told)
    if told.version is None:
        raise RecordingError(told.broken or f"no command runs under {order.interpreter.path}: it ended at once")
    recording = _recording(order, told, ended.exit_code, moment, time.monotonic() - begun)
    if not recording.calls and not recording.left_out:
        raise RecordingError(f"{ended.words}, and had called no function of {order.framework}: nothing is recorded")
    _write(order.out, recording)
    for line in _summary(recording, order.out, ended.words):
        print(line, file=sys.stderr)
    return ended.code


@dataclass(frozen=True)
class _Ended:
    """The end of the command."""

    exit_code: int | None
    """Its own; None: we killed it."""
    words: str
    code: int
    """The exit code of the recording."""


def _run_child(order: RecordOrder, told: _Told) -> _Ended:
    """Run the command to its end, to its deadline or to a Ctrl-C."""
    ours, theirs = os.pipe()
    device = frameworks.variables(frameworks.load(order.framework), "cpu")
    command, flag = order.command, "1" if order.with_values else "0"
    try:
        process = subprocess.Popen(
            [
                order.interpreter.path, *command.options, str(fork_server.LAUNCHER), CHILD, str(theirs),
                order.framework, flag, command.kind, command.target, *command.arguments,
            ],
            env={**fork_server.environment(inherited()), **device, **EAGER},
            pass_fds=[theirs],
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        os.close(ours)
        raise RecordingError(f"{order.interpreter.path} cannot be run: {error.strerror}") from error
    finally:
        os.close(theirs)
    deadline = time.monotonic() + order.timeout_s
    killed: _Ended | None = None
    try:
        for line in _lines(ours, process, deadline):
            with suppress(ValueError, KeyError, TypeError):
                told.take(line)
        if process.poll() is None:
            killed = _Ended(None, f"the command was killed after {order.timeout_s:g} s", LATE)
    except KeyboardInterrupt:
        killed = _Ended(None, "the command was interrupted", INTERRUPTED)
    finally:
        _end(process)
        os.close(ours)
    code = process.returncode
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return killed or _Ended(code, f"the command ended with {how}", FAILED if code else 0)


def _lines(pipe: int, process: subprocess.Popen[bytes], deadline: float) -> Iterator[bytes]:
    """The lines of a pipe until its process has ended, or until the deadline. A process that it left holds no pipe."""
    rest = b""
    while time.monotonic() < deadline:
        has_ended = process.poll() is not None
        ready, _, _ = select.select([pipe], [], [], 0.0 if has_ended else _LOOK_EVERY_S)
        piece = os.read(pipe, _PIECE) if ready else b""
        if not piece and (has_ended or ready):
            if has_ended:
                return
            # The pipe is closed, and the command goes on without a recorder.
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            return
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the command with all that it started, if it still runs."""
    if process.poll() is None:
        processes.kill(lambda table: processes.descendants([process.pid], table))
    process.wait()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _recording(order: RecordOrder, told: _Told, exit_code: int | None, moment: datetime, seconds: float) -> Recording:
    try:
        return Recording.model_validate(
            {
                "portolan": metadata.version("portolan"),
                "framework": order.framework,
                "version": told.version,
                "command": list(order.words),
                "folder": str(Path.cwd()),
                "recorded_at": moment,
                "seconds": seconds,
                "exit_code": exit_code,
                "notes": told.notes,
                "calls": _calls(told.of_kind(CALL)),
                "crossings": [{**entry.facts, "sites": entry.sites} for entry in told.of_kind(CROSSING)],
                "left_out": [{**entry.facts, "sites": entry.sites} for entry in told.of_kind(LEFT_OUT)],
            }
        )
    except ValidationError as error:
        raise RecordingError(f"what the command called cannot be written down: {first_fault(error)}") from error


def _calls(entries: Iterable[_Entry]) -> list[dict[str, Any]]:
    """The calls in their order. Two that are written alike are one."""
    calls: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in entries:
        key = entry.facts["function"], entry.facts["name"]
        known = calls.setdefault(key, {"gradient": None, **entry.facts, "count": 0, "seconds": 0.0, "sites": []})
        known["gradient"] = known["gradient"] or entry.facts.get("gradient")
        known["count"] += sum(site["count"] for site in entry.sites)
        known["seconds"] += entry.seconds
        known["sites"] = _added(known["sites"], entry.sites)
    return list(calls.values())


def _added(sites: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    counts: Counter[tuple[str, int]] = Counter()
    for site in (*sites, *others):
        counts[site["file"], site["line"]] += site["count"]
    return [{"file": file, "line": line, "count": count} for (file, line), count in counts.items()]


def _require_writable(out: Path) -> None:
    """Raise ``RecordingError`` before the command runs for nothing."""
    if out.is_dir() or not os.access(out.parent, os.W_OK) or (out.exists() and not os.access(out, os.W_OK)):
        raise RecordingError(f"--out {out}: it cannot be written there; name a file in a folder that is yours")


def _write(out: Path, recording: Recording) -> None:
    part = out.with_name(f"{out.name}.part")
    try:
        part.write_text(f"{recording.model_dump_json(indent=1)}\n")
        part.replace(out)
    except OSError as error:
        raise RecordingError(f"--out {out}: {error.strerror}; name a file that can be written") from error


def _summary(recording: Recording, out: Path, ended: str) -> Iterator[str]:
    if recording.exit_code != 0:
        yield f"portolan-runner: {ended}; what it had called by then is kept"
    made = sum(call.count for call in recording.calls)
    backward = sum(call.gradient is not None for call in recording.calls)
    yield (
        f"{out}: {len(recording.calls):,} distinct calls of {recording.framework} {recording.version}, made {made:,} "
        f"times; backward through {backward:,}"
    )
    if recording.left_out:
        count = sum(site.count for entry in recording.left_out for site in entry.sites)
        first = "; ".join(f"{entry.function}: {entry.reason}" for entry in recording.left_out[:MOST_NOTES])
        yield f"left out: {count:,} calls of {len(recording.left_out):,} kinds ({first})"
    yield from recording.notes
