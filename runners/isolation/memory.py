"""The memory limit of a case, and whether the kernel killed a process for lack of memory."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

SHARE = 0.8
"""The share of the memory free at the runner's start that the processes of one case may use."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """``512M``, ``2G``, ``1073741824`` → bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match or float(match[1]) <= 0:
        raise ValueError(f"{text!r} is not a size; write for example 512M or 2G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def default_limit() -> int:
    """A share of the memory that is free now, within the limit of the control group."""
    free = [_meminfo("MemAvailable")]
    for limit, usage in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        limit_bytes, usage_bytes = _number(limit), _number(usage)
        if limit_bytes is not None and usage_bytes is not None and limit_bytes < 1 << 60:
            free.append(limit_bytes - usage_bytes)
    return int(max(min(free), 64 << 20) * SHARE)


def kernel_kills() -> int:
    """The number of processes of our control group that the kernel has killed for lack of memory."""
    total = 0
    for path in _kill_counters():
        for line in path.read_text().splitlines():
            if line.startswith("oom_kill "):
                total += int(line.split()[1])
    return total


@cache
def _kill_counters() -> list[Path]:
    """The path of the counter file, looked up once because it is read for every child."""
    paths = map(_group_file, ("memory.events", "memory.oom_control"))
    return [path for path in paths if path is not None]


def _number(name: str) -> int | None:
    path = _group_file(name)
    if path is None:
        return None
    text = path.read_text().strip()
    return int(text) if text.isdigit() else None


def _group_file(name: str) -> Path | None:
    """A file of our control group, whichever version of them this machine has."""
    try:
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in groups:
        _, controllers, group = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = Path("/sys/fs/cgroup") / ("memory" if controllers else "")
        # Inside a container the group's own path is not there and its files stand at the root.
        for folder in (root / group.lstrip("/"), root):
            try:
                (folder / name).read_bytes()
            except OSError:
                continue
            return folder / name
    return None


def _meminfo(field: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 1 << 30
