"""Reads lock files: packages with their versions and hashes, in the format of uv and pip. Takes and returns texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_COMPLAINT = re.compile(r"\brequires?\b|\brequirement\b|\bnot compatible\b|\bincompatible\b")
"""Matches a line of ``pip check`` or ``uv pip check`` about a problem of one package or the number of problems."""
_COUNT = re.compile(r"Found \d+ incompatibilit")
_UNMET = re.compile(r"requires `?([A-Za-z0-9._-]+)")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def names(lock: str) -> list[str]:
    """Return the normalized names of the packages in a lock."""
    return [name for name, _ in _entries(lock) if name]


def without(lock: str, packages: str) -> str:
    """Return a lock without the packages whose whole name matches the pattern ``packages``."""
    return "".join(text for name, text in _entries(lock) if not (name and re.fullmatch(packages, name)))


def lack_only(lines: Iterable[str], packages: str) -> bool:
    """Whether the only problem reported by ``pip check`` or ``uv pip check`` is that packages matching this pattern are
    missing."""
    complaints = [line for line in lines if _COMPLAINT.search(line) and not _COUNT.match(line)]
    unmet = [normalize(match[1]) for line in complaints if "not installed" in line and (match := _UNMET.search(line))]
    return len(unmet) == len(complaints) and all(re.fullmatch(packages, name) for name in unmet)


def normalize(name: str) -> str:
    """Normalize a package's name, as indexes and file names do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _entries(lock: str) -> Iterator[tuple[str, str]]:
    """Yield each package's name with its lines in the lock. Comments have an empty name."""
    name, text = "", ""
    for line in lock.splitlines(keepends=True):
        if not line.startswith((" ", "\t")):
            if text:
                yield name, text
            requirement = _REQUIREMENT.match(line)
            name, text = (normalize(requirement[0]) if requirement else ""), ""
        text += line
    if text:
        yield name, text
