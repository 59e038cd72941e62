"""Checks names of targets before anything is started for them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from coordinator.cli.processes import ChildProcess
from protocol.exit_codes import UNKNOWN_TARGET

KNOWN_TARGETS = ("jax/cpu", "tensorflow/cpu", "tensorflow/xla", "torch/cpu", "torch/xla")
"""The default targets of ``up`` and ``demo``. The smallest download comes first, so that the first chart is ready
early."""


def complaint_about(targets: Sequence[str]) -> str | None:
    """Return a line about the first target that no local runner can serve; None if all are valid.

    Other names than ``KNOWN_TARGETS`` are checked by a runner's process, because packages in a framework's environment
    may add devices.
    """
    other_targets = [target for target in targets if target not in KNOWN_TARGETS]
    if not other_targets:
        return None
    runner = ChildProcess([sys.executable, "-P", "-m", "runners", "targets", *other_targets])
    try:
        return runner.complaint if runner.wait() == UNKNOWN_TARGET else None
    finally:
        runner.stop()
