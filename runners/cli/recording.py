"""``portolan-runner record``: runs a user's command under a recorder and writes its calls to a file."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from protocol.model import first_fault
from protocol.recording import Recording
from runners import frameworks
from runners.cli.command_child import ChildReport, CommandOrder, ReportedEntry, run_child
from runners.errors import RecordingError, UsageError
from runners.recording.command import AT, RECORD, RECORD_VALUES
from runners.suite.recording.book import CALL, CROSSING, LEFT_OUT

EAGER = {"TORCHDYNAMO_DISABLE": "1"}
"""Variables that turn off compilation, so that the user's own calls are recorded."""
MOST_NOTES = 3


def record(order: CommandOrder, *, with_values: bool, target: str | None) -> int:
    """Run the command and write its recording. Returns the exit code. Raises ``RecordingError`` if nothing was
    recorded.

    ``target`` is the device for which the command is recorded, if an option names one.
    """
    framework = frameworks.load(order.framework)
    if framework.recorder is None:
        raise UsageError(f"the calls of {order.framework} cannot be recorded: choose jax, tensorflow or torch")
    require_writable(order.out)
    # The device that arrays claim to be on during the recording; empty for the CPU.
    spoken_device = target if target in framework.spoken_devices else ""
    began, moment = time.monotonic(), datetime.now(UTC)
    end, report = run_child(order, f"{RECORD_VALUES if with_values else RECORD}{AT}{spoken_device}", EAGER)
    recording = _recording(
        order,
        report,
        {
            "target": spoken_device or None,
            "recorded_at": moment,
            "seconds": time.monotonic() - began,
            "exit_code": end.exit_code,
        },
    )
    if not recording.calls and not recording.left_out:
        raise RecordingError(
            f"nothing was recorded, because {end.words} before it called a function of {order.framework}: "
            "check the command's own output"
        )
    write(order.out, recording)
    for line in _summary(recording, order.out, end.words):
        print(line, file=sys.stderr)
    return end.code


def _recording(order: CommandOrder, report: ChildReport, facts: dict[str, Any]) -> Recording:
    try:
        return Recording.model_validate(
            {
                "portolan": metadata.version("portolan"),
                "framework": order.framework,
                "version": report.version,
                "command": list(order.words),
                "folder": str(Path.cwd()),
                **facts,
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
        kinds = list(dict.fromkeys(f"{entry.function}: {entry.reason}" for entry in recording.left_out))
        first = "; ".join(kinds[:MOST_NOTES])
        yield f"left out: {_count(count, 'call')} of {_count(len(kinds), 'kind')} ({first})"
    yield from recording.notes
