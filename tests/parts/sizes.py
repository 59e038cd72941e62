"""Compares the number of tests of each part with the number in ``sizes.toml``.

Otherwise nobody would notice a part that collects nothing, or a draw that shrinks.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OF_THE_MEMBERS = 0.9
"""The least share of the stored number of members. Some draws choose functions, whose numbers of cases differ."""
PATH = Path(__file__).with_name("sizes.toml")
HEAD = """\
# How many tests each part has at each level, run or left to other changes, and how many members of lists they check one
# by one. A run with another number of tests, or with a tenth fewer members, fails. `make test-sizes` writes what the
# numbers of the last run. Commit the difference with the change that causes it.
"""


@dataclass(frozen=True)
class Size:
    tests: int
    members: int

    def to_toml(self) -> str:
        return f"{{ tests = {self.tests}, members = {self.members} }}"


Sizes = Mapping[int, Mapping[str, Size]]
"""The sizes of parts, by level and part."""


def read_sizes() -> Sizes:
    content = tomllib.loads(PATH.read_text()) if PATH.is_file() else {}
    return {
        int(level.removeprefix("level-")): {part: Size(**size) for part, size in parts.items()}
        for level, parts in content.items()
    }


def sizes_as_toml(sizes: Sizes) -> str:
    tables = [
        "\n".join([f"[level-{level}]", *(f"{part} = {size.to_toml()}" for part, size in sorted(parts.items()))])
        for level, parts in sorted(sizes.items())
    ]
    return HEAD + "\n" + "\n\n".join(tables) + "\n"


def complaint(expected_size: Size | None, actual: Size, *, grown_by_change: bool, is_whole: bool = True) -> str | None:
    """Describe the difference to the stored numbers; None if there is none.

    A change of suites may add tests and members. If tests were left to other changes (``is_whole`` is false), the
    members are not compared, because fewer were checked.
    """
    if expected_size is None:
        return "sizes.toml has no size for it: run make test-sizes after this run"
    fewer_members = is_whole and actual.members < OF_THE_MEMBERS * expected_size.members
    missing = actual.tests < expected_size.tests or fewer_members
    if not missing and (actual.tests == expected_size.tests or grown_by_change):
        return None
    return (
        f"it had {actual.tests} tests and {actual.members} members of lists, but sizes.toml has {expected_size.tests} "
        f"and about {expected_size.members}: find the missing ones, or run make test-sizes if the change explains "
        "the difference"
    )
