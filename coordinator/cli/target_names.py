"""Names of targets, checked before anything is started for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from coordinator.cli.processes import ChildProcess
from protocol.exit_codes import UNKNOWN_TARGET

KNOWN_TARGETS = ("jax/cpu", "tensorflow/cpu", "tensorflow/xla", "torch/cpu", "torch/xla")
"""The targets of ``up`` and ``demo`` unless others are given; the smallest download first, for the first chart."""


def complaint_about(targets: Sequence[str]) -> str | None:
    """A line about the first target that no runner of this machine has a name for; None if there is none.

    The names are those of the runners, because packages in a framework's environment may bring more. No process is
    started to ask for those that every runner knows.
    """
    other_targets = [target for target in targets if target not in KNOWN_TARGETS]
    if not other_targets:
        return None
    runner = ChildProcess([sys.executable, "-P", "-m", "runners", "targets", *other_targets])
    try:
        return runner.complaint if runner.wait() == UNKNOWN_TARGET else None
    finally:
        runner.stop()
