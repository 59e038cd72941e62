"""``portolan-runner watch``: runs a user's command on the device, and lists the calls that fall back or raise there."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from importlib import metadata

from protocol.watched_run import WatchedEvent, WatchedRun
from runners import frameworks
from runners.cli.command_child import CommandOrder, run_child
from runners.cli.recording import require_writable, write
from runners.errors import UsageError
from runners.recording.command import AT, WATCH
from runners.suite.recording.book import FELL_BACK, RAISED


def watch(order: CommandOrder) -> int:
    """Run the command and write the report. Returns the exit code. Raises ``RecordingError`` if the command cannot be
    watched."""
    if frameworks.load(order.framework).watcher is None:
        raise UsageError(
            f"commands cannot be watched on a device of {order.framework}: choose one of jax, tensorflow or torch"
        )
    require_writable(order.out)
    began, moment = time.monotonic(), datetime.now(UTC)
    end, report = run_child(order, f"{WATCH}{AT}{order.device}")
    assert report.version is not None
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
