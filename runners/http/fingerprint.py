"""The fingerprint: the machine and the installation that produce outcomes."""

from __future__ import annotations

import platform
import shlex
from typing import Any

from protocol.limits import MAX_LINE, MAX_NAME
from protocol.runner import CASE_PLACE, RUN_PLACE, Fingerprint
from runners.isolation.observations import printable
from runners.settings import variables


def fingerprint(framework: str, device: str, description: dict[str, Any], options: str) -> Fingerprint:
    """Make the fingerprint of a runner from its device's description, its installation and its host."""
    return Fingerprint(
        hardware=printable(description["hardware"], MAX_NAME),
        environment=description["environment"],
        image=variables().image or None,
        host=platform.node(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=printable(description["python"], MAX_LINE),
        driver=None if description["driver"] is None else printable(description["driver"], MAX_LINE),
        threads=description["threads"],
        repeat=f"{shlex.join(['portolan-runner', 'run', framework, device])} {CASE_PLACE}{options}[ --run {RUN_PLACE}]",
        libraries={
            printable(name, MAX_LINE): printable(version, MAX_LINE)
            for name, version in description["libraries"].items()
        },
        notes=[printable(note, MAX_LINE) for note in description["notes"]],
    )
