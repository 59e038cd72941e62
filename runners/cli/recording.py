"""``portolan-runner record``: runs a user's command under a recorder and writes its calls to a file."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from protocol.enums import HOST
from protocol.model import first_fault
from protocol.recording import Recording
from runners import frameworks
from runners.cli.command_child import ChildOrder, ChildReport, ReportedEntry, run_child
from runners.errors import RecordingError, UsageError
from runners.isolation.fork_server import Interpreter
from runners.recording.command import AT, RECORD, RECORD_VALUES, Command
from runners.suite.recording.book import CALL, CROSSING, LEFT_OUT

EAGER = {"TORCHDYNAMO_DISABLE": "1"}
"""Variables that turn off compilation, so that the user's own calls are recorded."""
MOST_NOTES = 3


@dataclass(frozen=True)
class RecordOrder:
    """The command line options of one recording."""

    framework: str
    interpreter: Interpreter
    command: Command
    words: Sequence[str]
    """The command line as the user typed it."""
    out: Path
    timeout_s: float
    with_values: bool
    target: str | None
    """The device for which the command is recorded, if an option names one."""

    @property
    def spoken_device(self) -> str:
        """The device that arrays claim to be on during the recording; empty for the CPU."""
        return self.target if self.target in frameworks.load(self.framework).spoken_devices else ""


def record(order: RecordOrder) -> int:
    """Run the command and write its recording. Returns the exit code. Raises ``RecordingError`` if nothing was
    recorded."""
    framework = frameworks.load(order.framework)
    if framework.recorder is None:
        raise UsageError(f"the calls of {order.framework} cannot be recorded: choose jax, tensorflow or torch")
    require_writable(order.out)
    began, moment, report = time.monotonic(), datetime.now(UTC), ChildReport()
    job = f"{RECORD_VALUES if order.with_values else RECORD}{AT}{order.spoken_device}"
    end = run_child(
        ChildOrder(order.framework, HOST, job, order.interpreter, order.command, order.timeout_s, EAGER), report
    )
    if report.version is None:
        raise RecordingError(
            report.broken
            or f"{order.interpreter.path} ended before the command began: check that it starts, and that "
            f"{order.framework} is installed in it"
        )
    recording = _recording(order, report, end.exit_code, moment, time.monotonic() - began)
    if not recording.calls and not recording.left_out:
        raise RecordingError(
            f"nothing was recorded, because {end.words} before it called a function of {order.framework}: "
            "check the command's own output"
        )
    write(order.out, recording)
    for line in _summary(recording, order.out, end.words):
        print(line, file=sys.stderr)
    return end.code


def _recording(
    order: RecordOrder, report: ChildReport, exit_code: int | None, moment: datetime, seconds: float
) -> Recording:
    try:
        return Recording.model_validate(
            {
                "portolan": metadata.version("portolan"),
                "framework": order.framework,
                "target": order.spoken_device or None,
                "version": report.version,
                "command": list(order.words),
                "folder": str(Path.cwd()),
                "recorded_at": moment,
                "seconds": seconds,
                "exit_code": exit_code,
                "notes": report.notes,
                "calls": _calls(report.of_kind(CALL)),
                "crossings": [{**entry.facts, "sites": entry.sites} for entry in report.of_kind(CROSSING)],
                "left_out": [{**entry.facts, "sites": entry.sites} for entry in report.of_kind(LEFT_OUT)],
            }
        )
    except ValidationError as error:
        raise RecordingError(
            f"the recorded calls cannot be stored ({first_fault(error)}): record a shorter command"
        ) from error


def _calls(entries: Iterable[ReportedEntry]) -> list[dict[str, Any]]:
    """Return the calls in order. Calls with equal descriptions are merged."""
    calls: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in entries:
        key = entry.facts["function"], entry.facts["name"]
        row = calls.setdefault(key, {"gradient": None, **entry.facts, "count": 0, "seconds": 0.0, "sites": []})
        row["gradient"] = row["gradient"] or entry.facts.get("gradient")
        row["count"] += sum(site["count"] for site in entry.sites)
        row["seconds"] += entry.seconds
        row["sites"] = _add_sites(row["sites"], entry.sites)
    return list(calls.values())


def _add_sites(sites: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    counts: Counter[tuple[str, int]] = Counter()
    for site in (*sites, *others):
        counts[site["file"], site["line"]] += site["count"]
    return [{"file": file, "line": line, "count": count} for (file, line), count in counts.items()]


def require_writable(out: Path) -> None:
    """Raise ``RecordingError`` if the file cannot be written. Must be called before the command runs."""
    if out.is_dir() or not os.access(out.parent, os.W_OK) or (out.exists() and not os.access(out, os.W_OK)):
        raise RecordingError(f"--out {out} cannot be written: name a file in a folder that you may write to")


def write(out: Path, document: BaseModel) -> None:
    """Write a document to a file. Readers see the old content or the new content, and never a part."""
    part = out.with_name(f"{out.name}.part")
    try:
        part.write_text(f"{document.model_dump_json(indent=1)}\n")
        part.replace(out)
    except OSError as error:
        raise RecordingError(f"--out {out}: {error.strerror}; name a file that can be written") from error


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _summary(recording: Recording, out: Path, end_words: str) -> Iterator[str]:
    if recording.exit_code != 0:
        yield f"portolan-runner: {end_words}; the calls until then are kept"
    calls = sum(call.count for call in recording.calls)
    backward = sum(call.gradient is not None for call in recording.calls)
    yield (
        f"{out}: {_count(len(recording.calls), 'distinct call')} of {recording.framework} {recording.version}, "
        f"made {_count(calls, 'time')}; backward through {backward:,}"
    )
    if recording.left_out:
        count = sum(site.count for entry in recording.left_out for site in entry.sites)
        first = "; ".join(f"{entry.function}: {entry.reason}" for entry in recording.left_out[:MOST_NOTES])
        yield f"left out: {count:,} calls of {len(recording.left_out):,} kinds ({first})"
    yield from recording.notes
