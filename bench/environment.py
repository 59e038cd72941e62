"""The Pythons of the frameworks' environments, and the packages that a bench adds to one of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.place import CannotRunError
from runners.cli import environments

INSTALL = "PORTOLAN_BENCH_INSTALL"


def python_of(framework: str, device: str = "") -> str:
    """Return the Python that runs a framework, or a device of it."""
    environment = environments.find(framework, device)
    if environment is None:
        command = f"portolan-runner setup {framework} {device}".rstrip()
        raise CannotRunError(f"{framework} is not set up: run `{command}`")
    return str(environment / "bin" / "python")


def install(place: Path, framework: str, requirements: Sequence[str], *options: str) -> Path:
    """Install requirements for a framework into a separate folder. The framework is not installed."""
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None or os.environ.get(INSTALL) != "1":
        raise CannotRunError(
            f"set {INSTALL}=1 and install uv; the bench then installs the packages into a temporary folder"
        )
    command = [uv, "pip", "install", "--quiet", "--no-deps", *options, "--python", python_of(framework)]
    if subprocess.run([*command, "--target", str(place), *requirements], stdout=sys.stderr, check=False).returncode:
        raise CannotRunError(f"uv could not install {' '.join(requirements)}: correct the reason above")
    return place
