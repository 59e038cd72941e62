"""Reads the version of Python and the installed packages of an interpreter, and computes a hash over both.

A child of the zygote does this, because it runs in the framework's own interpreter.
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
"""A file that marks an environment whose packages may be other builds than its lock pins. It changes the hash."""
STAND_IN = "portolan-stand-in.json"
"""A file in an environment without some packages: what replaces them, by the name of the product (``CUDA``)."""


def identity() -> dict[str, str]:
    """Return the version of Python and the hash of this environment."""
    python = platform.python_version()
    any_build = (Path(sys.prefix) / ANY_BUILD).exists()
    return {"python": python, "environment": environment_hash(installed_packages(), python, any_build=any_build)}


def stand_ins() -> dict[str, str]:
    """Read which stubs replace packages that are not installed here, by the name of the product (``CUDA``)."""
    file = Path(sys.prefix) / STAND_IN
    return dict(json.loads(file.read_text())) if file.exists() else {}


def environment_hash(distributions: Iterable[tuple[str, str]], python: str, *, any_build: bool = False) -> str:
    """Return 12 hex digits of a hash over names and versions. The order and the spelling of names do not matter.

    If a lock pins the packages' hashes, packages of equal versions are equal. With ``any_build``, packages of equal
    versions may differ. So an environment with ``any_build`` has another hash than an environment with the packages of
    its lock.
    """
    lines = sorted(
        {f"{name.lower().replace('_', '-').replace('.', '-')}=={version}" for name, version in distributions}
    )
    return hashlib.sha256(
        "\n".join([*lines, f"python {python}", *(["any build"] if any_build else [])]).encode()
    ).hexdigest()[:12]


def installed_packages() -> list[tuple[str, str]]:
    """Return the name and version of every installed distribution, except Portolan: the revision covers its code."""
    versions = []
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name and name != "portolan":
            versions.append((name, distribution.version))
    return versions
