"""Names of targets, checked before anything is started for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from coordinator.cli.processes import ChildProcess
from protocol.exit_codes import UNKNOWN_TARGET


def complaint_about(targets: Sequence[str]) -> str | None:
    """A line about the first target that no runner of this machine has a name for; None if there is none.

    The names are those of the runners, because packages in a framework's environment may bring more.
    """
    runner = ChildProcess([sys.executable, "-P", "-m", "runners", "targets", *targets])
    try:
        return runner.complaint if runner.wait() == UNKNOWN_TARGET else None
    finally:
        runner.stop()
