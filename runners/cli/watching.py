"""``portolan-runner watch``: runs a user's command on the device, and lists the calls that fall back or raise there."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from protocol.watched_run import WatchedEvent, WatchedRun
from runners import frameworks
from runners.cli.command_child import ChildOrder, ChildReport, run_child
from runners.cli.recording import require_writable, write
from runners.errors import RecordingError, UsageError
from runners.isolation.fork_server import Interpreter
from runners.recording.command import AT, WATCH, Command
from runners.suite.recording.book import FELL_BACK, RAISED


@dataclass(frozen=True)
class WatchOrder:
    """The command line options of one watched run."""

    framework: str
    device: str
    interpreter: Interpreter
    command: Command
    words: Sequence[str]
    """The command line as the user typed it."""
    out: Path
    timeout_s: float


def watch(order: WatchOrder) -> int:
    """Run the command and write the report. Returns the exit code. Raises ``RecordingError`` if the command cannot be
    watched."""
    if frameworks.load(order.framework).watcher is None:
        raise UsageError(
            f"commands cannot be watched on a device of {order.framework}: choose one of jax, tensorflow or torch"
        )
    require_writable(order.out)
    began, moment, report = time.monotonic(), datetime.now(UTC), ChildReport()
    job = f"{WATCH}{AT}{order.device}"
    end = run_child(
        ChildOrder(order.framework, order.device, job, order.interpreter, order.command, order.timeout_s, {}), report
    )
    if report.version is None:
        raise RecordingError(
            report.broken
            or f"{order.interpreter.path} ended before the command began: check that it starts, and that "
            f"{order.framework} is installed in it"
        )
    run = WatchedRun(
        portolan=metadata.version("portolan"),
        framework=order.framework,
        version=report.version,
        device=order.device,
        command=list(order.words),
        watched_at=moment,
        seconds=time.monotonic() - began,
        exit_code=end.exit_code,
        notes=report.notes,
        events=[
            WatchedEvent.model_validate({"kind": kind, **entry.facts, "sites": entry.sites})
            for kind in (RAISED, FELL_BACK)
            for entry in report.of_kind(kind)
        ],
    )
    write(order.out, run)
    print(f"{order.out}: {end.words} on {order.framework}/{order.device}", file=sys.stderr)
    return end.code
