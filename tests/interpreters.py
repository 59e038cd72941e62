"""Python interpreters of other versions, if this machine has them, and small environments."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def uv(*arguments: str | Path) -> str:
    program = Path(sys.executable).with_name("uv")
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def find(version: str) -> str | None:
    """A Python of this version that starts."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [str(path / "bin") for path in sorted(versions.glob(f"{version}.*"))]
    found = shutil.which(f"python{version}", path=os.pathsep.join([*places, os.environ["PATH"]]))
    if found is None or subprocess.run([found, "-V"], capture_output=True, check=False).returncode:
        return None
    return found


def of_version(version: str) -> str:
    """An interpreter of this version. The test is skipped if this machine has none."""
    found = find(version)
    if found is None:
        pytest.skip(f"this machine has no Python {version}")
    return found


def bare_environment(interpreter: str, place: Path) -> Path:
    """The Python of a new environment with NumPy only."""
    uv("venv", "--quiet", "--python", interpreter, place)
    uv("pip", "install", "--quiet", "--python", place / "bin" / "python", "numpy")
    return place / "bin" / "python"
