"""Looking into a running container: which hardening is in force there, however it was started."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROBE = Path(__file__).with_name("probe.py")
ANSWERS_WITHIN_S = 120.0
ENGINES_OWN = ("/dev", "/proc", "/sys")
INIT = ("docker-init", "tini")
ASK = """
import http.client
for port, method, path in ((8642, "GET", "/api/v1/campaigns"), (8642, "POST", "/api/v1/campaigns"), (8642, "GET", "/"),
                           (8643, "GET", "/api/v1/campaigns"), (8643, "DELETE", "/api/v1/runners/1"),
                           (8643, "POST", "/api/v1/runners/enrol"), (8643, "GET", "/healthz")):
    connection = http.client.HTTPConnection("coordinator", port, timeout=20)
    connection.request(method, path, "{}", {"Content-Type": "application/json", "Host": "127.0.0.1"})
    print(connection.getresponse().status)
"""
"""What a case can ask the coordinator for, as Python: a status for each request."""
ENROLMENT_ALONE = ["403", "403", "403", "403", "403", "401", "200"]
"""What it should get: enrolment, once it has a token, and health."""


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    name: str
    uid: int
    may: int
    """Every capability that it has or could get, as the kernel's bits."""
    no_new_privileges: bool
    seccomp: bool


@dataclass(frozen=True)
class Inside:
    """What holds inside one container."""

    processes: tuple[Process, ...]
    mounts: tuple[dict[str, Any], ...]
    memory: float | None
    swap: float | None
    """Beyond the memory."""
    cpus: float | None
    pids: float | None
    writable: tuple[str, ...]
    """Folders of the image that take a new file."""
    secrets: dict[str, bool]
    """Name of each file → whether its words stand in the environment too."""
    default_route: bool
    reached: dict[str, bool]
    """Address → whether a connection came about."""

    @property
    def root_read_only(self) -> bool:
        (root,) = [mount for mount in self.mounts if mount["target"] == "/"]
        return "ro" in root["options"]

    @property
    def scratch(self) -> dict[str, bool]:
        """Every writable tmpfs of ours → whether it has a size. The engine's own hide what is in /proc."""
        return {
            mount["target"]: any(option.startswith("size=") for option in mount["of_filesystem"])
            for mount in self.mounts
            if mount["kind"] == "tmpfs" and "rw" in mount["options"] and not mount["target"].startswith(ENGINES_OWN)
        }

    @property
    def working(self) -> tuple[Process, ...]:
        """The container's program and all that it started.

        Not the engine's own init, which starts one program and then only waits, nor what the engine
        starts from outside, as it asks for the health.
        """
        parents = {process.pid: process.parent for process in self.processes}
        return tuple(
            process
            for process in self.processes
            if _stems_from_first(process.pid, parents) and process.name not in INIT
        )

    def kind(self, target: str) -> str | None:
        """Of the filesystem that is mounted there."""
        return next((mount["kind"] for mount in self.mounts if mount["target"] == target), None)

    def is_mounted(self, target: str) -> bool:
        return self.kind(target) is not None


def _stems_from_first(pid: int, parents: dict[int, int]) -> bool:
    while pid > 1:
        pid = parents.get(pid, 0)
    return pid == 1


def look_inside(docker: Sequence[str], container: str, *addresses: str) -> Inside:
    """Run the probe in it. ``docker`` is the client's command, with the host of the engine."""
    answer = subprocess.run(
        [*docker, "exec", "-i", container, "python3", "-", *addresses],
        input=PROBE.read_bytes(),
        capture_output=True,
        timeout=ANSWERS_WITHIN_S,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr.decode()
    facts = json.loads(answer.stdout)
    return Inside(
        processes=tuple(Process(**process) for process in facts["processes"]),
        mounts=tuple(facts["mounts"]),
        **facts["limits"],
        writable=tuple(facts["writable"]),
        secrets=facts["secrets"],
        default_route=facts["default_route"],
        reached=facts["reached"],
    )


def shortcomings(inside: Inside) -> list[str]:
    """What a runner's container lacks of the hardening; empty when all of it is in force."""
    working = inside.working
    lacks = {
        "there is no process": not working,
        "a process is root": any(process.uid == 0 for process in working),
        "a process has capabilities, or could get some": any(process.may for process in working),
        "a process could gain privileges": not all(process.no_new_privileges for process in working),
        "a process runs without seccomp": not all(process.seccomp for process in working),
        "the root is writable": not inside.root_read_only or bool(inside.writable),
        "there is no scratch space": not inside.scratch,
        "scratch space has no size": not all(inside.scratch.values()),
        "memory has no limit": inside.memory is None,
        "processors have no limit": inside.cpus is None,
        "the number of processes has no limit": inside.pids is None,
        "there is no secret in a file": not inside.secrets,
        "a secret stands in the environment": any(inside.secrets.values()),
        "there is a way out": inside.default_route,
        "an address that it must not reach answers": any(inside.reached.values()),
    }
    return [words for words, lacking in lacks.items() if lacking]
