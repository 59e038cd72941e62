"""Makes the description of a runner and its device, for the service and for commands that start no service."""

from __future__ import annotations

import secrets
from typing import Any

from pydantic import ValidationError

from protocol import PROTOCOL_VERSION
from protocol.model import first_fault
from protocol.runner import RunnerInfo
from runners.errors import FrameworkBrokenError
from runners.http.fingerprint import fingerprint
from runners.isolation.fork_server import Interpreter

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
