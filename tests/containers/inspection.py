"""Inspects a running container: which hardening is in force inside, however the container was started."""

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
"""Requests that a case could send to the coordinator, as Python code that prints a status for each."""
ENROLMENT_ALONE = ["403", "403", "403", "403", "403", "401", "200"]
"""The expected statuses. Only enrollment (with a token) and health are allowed."""


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    name: str
    uid: int
    may: int
    """Every capability that the process has or could get, as the kernel's bits."""
    no_new_privileges: bool
    seccomp: bool


@dataclass(frozen=True)
class Inside:
    """The properties of one container, seen from inside."""

    processes: tuple[Process, ...]
    mounts: tuple[dict[str, Any], ...]
    memory: float | None
    swap: float | None
    """Bytes of swap that are allowed beyond the memory limit."""
    cpus: float | None
    pids: float | None
    writable: tuple[str, ...]
    """Folders of the image in which a new file can be created."""
    secrets: dict[str, bool]
    """For each file of a secret, whether its content is also in the environment."""
    default_route: bool
    reached: dict[str, bool]
    """For each address, whether a connection was possible."""

    @property
    def root_read_only(self) -> bool:
        (root,) = [mount for mount in self.mounts if mount["target"] == "/"]
        return "ro" in root["options"]

    @property
    def scratch(self) -> dict[str, bool]:
        """For each writable tmpfs of Portolan, whether it has a size. The engine's own mounts, which hide parts of
        /proc, are excluded."""
        return {
            mount["target"]: any(option.startswith("size=") for option in mount["of_filesystem"])
            for mount in self.mounts
            if mount["kind"] == "tmpfs" and "rw" in mount["options"] and not mount["target"].startswith(ENGINES_OWN)
        }

    @property
    def working(self) -> tuple[Process, ...]:
        """The container's program and all processes that it started. Two kinds of processes are excluded: the engine's
        own init, which starts one program and then only waits, and processes that the engine starts from outside for
        the health check."""
        parents = {process.pid: process.parent for process in self.processes}
        return tuple(
            process
            for process in self.processes
            if _stems_from_first(process.pid, parents) and process.name not in INIT
        )

    def kind(self, target: str) -> str | None:
        """The kind of the filesystem that is mounted there."""
        return next((mount["kind"] for mount in self.mounts if mount["target"] == target), None)

    def is_mounted(self, target: str) -> bool:
        return self.kind(target) is not None


def _stems_from_first(pid: int, parents: dict[int, int]) -> bool:
    while pid > 1:
        pid = parents.get(pid, 0)
    return pid == 1


def look_inside(docker: Sequence[str], container: str, *addresses: str) -> Inside:
    """Run the probe in the container. ``docker`` is the client's command, with the host of the engine."""
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
    """The missing parts of a runner container's hardening; empty if all of it is in force."""
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
