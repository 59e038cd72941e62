"""The Python and packages of an interpreter, and a hash over both.

Only the framework's own interpreter can say it, so a child of the zygote does.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

ANY_BUILD = "portolan-any-build"
"""File in an environment whose packages may be other builds than in its lock; the environment's hash then differs."""
STAND_IN = "portolan-stand-in.json"
"""File in an environment without some packages: what replaces them, by the name of their product (``CUDA``)."""


def identity() -> dict[str, str]:
    """The version of Python, and the hash of this environment."""
    python = platform.python_version()
    any_build = (Path(sys.prefix) / ANY_BUILD).exists()
    return {"python": python, "environment": environment_hash(installed_packages(), python, any_build=any_build)}


def stand_ins() -> dict[str, str]:
    """The products that stand in for packages that are not installed here, by the product's name."""
    file = Path(sys.prefix) / STAND_IN
    return dict(json.loads(file.read_text())) if file.exists() else {}


def environment_hash(distributions: Iterable[tuple[str, str]], python: str, *, any_build: bool = False) -> str:
    """12 hex digits over names and versions; order and spelling of names do not matter.

    Packages of equal versions are equal if a lock holds their hashes. With ``any_build`` this is unknown, so such an
    environment never equals one that keeps to its lock.
    """
    lines = sorted(
        {f"{name.lower().replace('_', '-').replace('.', '-')}=={version}" for name, version in distributions}
    )
    return hashlib.sha256(
        "\n".join([*lines, f"python {python}", *(["any build"] if any_build else [])]).encode()
    ).hexdigest()[:12]


def installed_packages() -> list[tuple[str, str]]:
    """Name and version of every installed distribution but our own, which the revision covers."""
    versions = []
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name and name != "portolan":
            versions.append((name, distribution.version))
    return versions
