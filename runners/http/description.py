"""Makes the description of a runner and its device, for the service and for commands that start no service."""

from __future__ import annotations

import platform
import secrets
import shlex
from typing import Any

from pydantic import ValidationError

from protocol import PROTOCOL_VERSION
from protocol.limits import MAX_LINE, MAX_NAME
from protocol.model import first_fault
from protocol.runner import CASE_PLACE, RUN_PLACE, Fingerprint, RunnerInfo
from runners.errors import FrameworkBrokenError
from runners.isolation.fork_server import Interpreter
from runners.isolation.observations import printable
from runners.settings import variables

QUEUE_LIMIT = 512


def describe(
    framework: str, device: str, description: dict[str, Any], interpreter: Interpreter, slots: int
) -> RunnerInfo:
    """Describe the runner. Raises ``FrameworkBrokenError`` if the device's description is invalid."""
    try:
        return RunnerInfo(
            boot_id=secrets.token_hex(8),
            protocol=PROTOCOL_VERSION,
            framework=framework,
            version=description["version"],
            device=device,
            device_class=description["device_class"],
            device_count=description["device_count"],
            slots=slots,
            queue_limit=QUEUE_LIMIT,
            simulated=description["simulated"],
            fingerprint=fingerprint(framework, device, description, interpreter.options),
        )
    except ValidationError as error:
        fault = f"{framework}/{device} gives an invalid description of itself ({first_fault(error)})"
        raise FrameworkBrokenError(f"{fault}: correct describe() in its devices.py") from error


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
