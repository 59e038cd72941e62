"""The fingerprint: which machine and which installation a number comes from."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from protocol.limits import MAX_LINE, MAX_NAME
from protocol.runner import CASE_PLACE, RUN_PLACE, Fingerprint
from runners.isolation.outcomes import printable

IMAGE_VARIABLE = "PORTOLAN_IMAGE"


ANY_BUILD = Path(sys.prefix) / "portolan-any-build"
"""A file in an environment whose packages may be other builds than those of its lock."""


def environment_hash(distributions: Iterable[tuple[str, str]], python: str, *, any_build: bool = False) -> str:
    """12 hex digits over names and versions; order and spelling of names do not matter.

    Packages of equal versions are equal if a lock holds their hashes. Where it may be ``any_build``, nobody knows,
    so such an environment is never the same as one that holds to its lock.
    """
    lines = sorted(
        {f"{name.lower().replace('_', '-').replace('.', '-')}=={version}" for name, version in distributions}
    )
    return hashlib.sha256(
        "\n".join([*lines, f"python {python}", *(["any build"] if any_build else [])]).encode()
    ).hexdigest()[:12]


def installed() -> list[tuple[str, str]]:
    """Name and version of every installed distribution but our own, which the revision covers."""
    found = []
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name and name != "portolan":
            found.append((name, distribution.version))
    return found


def fingerprint(framework: str, device: str, description: dict[str, Any]) -> Fingerprint:
    """What the device said of itself, and what is known of the host."""
    python = platform.python_version()
    return Fingerprint(
        hardware=printable(description["hardware"], MAX_NAME),
        environment=environment_hash(installed(), python, any_build=ANY_BUILD.exists()),
        image=os.environ.get(IMAGE_VARIABLE) or None,
        host=platform.node(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=python,
        driver=None if description["driver"] is None else printable(description["driver"], MAX_LINE),
        threads=description["threads"],
        repeat=f"portolan-runner run {framework} {device} {CASE_PLACE}[ --run {RUN_PLACE}]",
        libraries={
            printable(name, MAX_LINE): printable(version, MAX_LINE)
            for name, version in description["libraries"].items()
        },
        notes=[printable(note, MAX_LINE) for note in description["notes"]],
    )
