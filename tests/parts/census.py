"""A pytest plugin (``-p tests.parts.census``) that counts the tests of a process and their cost by file.

Each pytest process, including each xdist worker, writes one JSON file into the folder that the variable names. The CPU
time of a test includes processes that it started and waited for.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import each
from tests.parts import durations

FOLDER_VARIABLE = "PORTOLAN_TEST_CENSUS"
"""The folder for the counts. If it is not set, nothing is written."""


@dataclass
class FileCost:
    """The cost of the tests of one file: their number, their seconds, and their CPU seconds."""

    tests: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0


@dataclass
class Census:
    """The tests of one process or of several, by file."""

    files: dict[str, FileCost] = field(default_factory=lambda: defaultdict(FileCost))
    members: int = 0
    """Members of lists that single tests have checked."""
    resting: int = 0
    """Tests that were left to other changes. Each process counts all of them."""

    @property
    def tests(self) -> int:
        return sum(cost.tests for cost in self.files.values())

    def add(self, file: str, cost: FileCost) -> None:
        total = self.files[file]
        total.tests += cost.tests
        total.wall_s += cost.wall_s
        total.cpu_s += cost.cpu_s

    def to_json(self) -> str:
        rows = {file: [cost.tests, round(cost.wall_s, 3), round(cost.cpu_s, 3)] for file, cost in self.files.items()}
        return json.dumps({"members": self.members, "resting": self.resting, "files": rows})


def read(folder: Path) -> Census:
    """The sum of all counts in a folder."""
    census = Census()
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text())
        census.members += content["members"]
        census.resting = max(census.resting, content["resting"])
        for file, (tests, wall_s, cpu_s) in content["files"].items():
            census.add(file, FileCost(tests, wall_s, cpu_s))
    return census


_census = Census()


def count_resting(tests: int) -> None:
    """Record the number of tests that this process leaves to other changes."""
    _census.resting = tests


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort files so that the longest come first. The order of tests in a file, and of short files, does not change."""
    seconds = durations.read().files
    items.sort(key=lambda item: -seconds.get(os.path.relpath(item.path), 0.0))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    began, cpu_began = time.monotonic(), _cpu_s()
    result = yield
    file = os.path.relpath(item.path)
    _census.add(file, FileCost(1, time.monotonic() - began, _cpu_s() - cpu_began))
    return result


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and _census.files:
        _census.members = each.count
        Path(folder, f"{os.getpid()}.json").write_text(_census.to_json())


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
