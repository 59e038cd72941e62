"""Determines the memory limit of a case, and counts processes that the kernel killed for lack of memory."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

SHARE = 0.8
"""The processes of one case may use this share of the memory that is free when the runner starts."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Convert ``512M``, ``2G`` or ``1073741824`` to bytes. Raises ``ValueError``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match or float(match[1]) <= 0:
        raise ValueError(f"{text!r} is not a size; write for example 512M or 2G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def default_limit() -> int:
    """Return ``SHARE`` of the memory that is free now, also within the limit of the control group."""
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
    """Return how many processes of this control group the kernel has killed for lack of memory."""
    total = 0
    for path in _kill_counters():
        for line in path.read_text().splitlines():
            if line.startswith("oom_kill "):
                total += int(line.split()[1])
    return total


@cache
def _kill_counters() -> list[Path]:
    """Return the paths of the files that count kills. Looked up once, because they are read for every child."""
    paths = map(_group_file, ("memory.events", "memory.oom_control"))
    return [path for path in paths if path is not None]


def _number(name: str) -> int | None:
    path = _group_file(name)
    if path is None:
        return None
    text = path.read_text().strip()
    return int(text) if text.isdigit() else None


def _group_file(name: str) -> Path | None:
    """Return the path of a file of this process's control group, for version 1 or 2 of control groups."""
    try:
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in groups:
        _, controllers, group = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = Path("/sys/fs/cgroup") / ("memory" if controllers else "")
        # In a container, the path of the group does not exist, and its files are in the root folder.
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
