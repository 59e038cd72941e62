"""Runs inside a container through ``docker exec`` and prints properties of the container as JSON. Standard library
only.

All values are read from the kernel or tried out; none comes from the container's configuration. Arguments: addresses,
``host:port``, to which the probe tries to connect.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

CONNECTS_WITHIN_S = 10.0
WRITTEN_TO = ("/", "/etc", "/usr/lib", "/opt", "/home", "/root")
GROUPS_1 = {
    "memory": "memory/memory.limit_in_bytes",
    "memory_and_swap": "memory/memory.memsw.limit_in_bytes",
    "pids": "pids/pids.max",
    "quota": "cpu/cpu.cfs_quota_us",
    "period": "cpu/cpu.cfs_period_us",
}
GROUPS_2 = {"memory": "memory.max", "swap": "memory.swap.max", "pids": "pids.max", "cpu": "cpu.max"}
UNLIMITED_BYTES = 1 << 60
"""The first version of control groups has a large number that means *no limit*."""


def processes() -> list[dict[str, Any]]:
    """Every process of the container except this one."""
    rows = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            status = (folder / "status").read_text()
        except OSError:
            continue
        says = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        rows.append(
            {
                "pid": int(folder.name),
                "parent": int(says["PPid"]),
                "name": says["Name"].strip(),
                "uid": int(says["Uid"].split()[1]),
                "may": int(says["CapEff"], 16) | int(says["CapPrm"], 16) | int(says["CapBnd"], 16),
                "no_new_privileges": says["NoNewPrivs"].strip() == "1",
                "seccomp": says["Seccomp"].strip() == "2",
            }
        )
    return rows


def mounts() -> list[dict[str, Any]]:
    rows = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        here, _, below = line.partition(" - ")
        target, options = here.split()[4:6]
        kind, _, of_filesystem = below.split()[:3]
        rows.append(
            {"target": target, "kind": kind, "options": options.split(","), "of_filesystem": of_filesystem.split(",")}
        )
    return rows


def limits() -> dict[str, float | None]:
    """The limits that the kernel enforces: bytes of memory and of additional swap, processors, and processes. Null
    means *no limit*."""
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        says = {name: (root / path).read_text().split() for name, path in GROUPS_2.items()}
        quota, period = says["cpu"]
        return {
            "memory": None if says["memory"] == ["max"] else float(says["memory"][0]),
            "swap": None if says["swap"] == ["max"] else float(says["swap"][0]),
            "pids": None if says["pids"] == ["max"] else float(says["pids"][0]),
            "cpus": None if quota == "max" else float(quota) / float(period),
        }
    first = {name: (root / path).read_text().strip() for name, path in GROUPS_1.items()}
    memory, both = int(first["memory"]), int(first["memory_and_swap"])
    return {
        "memory": float(memory) if memory < UNLIMITED_BYTES else None,
        "swap": float(both - memory) if both < UNLIMITED_BYTES else None,
        "pids": None if first["pids"] == "max" else float(first["pids"]),
        "cpus": float(first["quota"]) / float(first["period"]) if int(first["quota"]) > 0 else None,
    }


def writable() -> list[str]:
    """The folders of the image in which a new file can be created."""
    folders = []
    for folder in WRITTEN_TO:
        path = Path(folder) / ".written-by-a-test"
        try:
            path.write_text("")
            path.unlink()
        except OSError:
            continue
        folders.append(folder)
    return folders


def reaches(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), CONNECTS_WITHIN_S):
            return True
    except OSError:
        return False


def secrets() -> dict[str, bool]:
    """The files of secrets, and for each whether its content is also in the environment."""
    folder = Path("/run/secrets")
    is_readable = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            word = path.read_text().strip()
        except OSError:
            word = ""
        is_readable[path.name] = bool(word) and any(word in value for value in os.environ.values())
    return is_readable


def main(addresses: list[str]) -> None:
    facts = {
        "processes": processes(),
        "mounts": mounts(),
        "limits": limits(),
        "writable": writable(),
        "secrets": secrets(),
        "default_route": any(line.split()[1] == "00000000" for line in _routes()),
        "reached": {address: reaches(address) for address in addresses},
    }
    print(json.dumps(facts))


def _routes() -> list[str]:
    return Path("/proc/net/route").read_text().splitlines()[1:]


if __name__ == "__main__":
    main(sys.argv[1:])
