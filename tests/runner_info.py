"""The description of a runner for tests that need no runner process."""

from __future__ import annotations

from protocol import PROTOCOL_VERSION
from protocol.enums import DeviceClass
from protocol.runner import Fingerprint, RunnerInfo


def runner_info(boot_id: str = "boot-1") -> RunnerInfo:
    return RunnerInfo(
        boot_id=boot_id,
        protocol=PROTOCOL_VERSION,
        framework="torch",
        version="2.9.0",
        device="cpu",
        device_class=DeviceClass.cpu,
        device_count=1,
        queue_limit=256,
        fingerprint=Fingerprint(hardware="a CPU", environment="abc", host="here", system="Linux", python="3.11"),
    )
