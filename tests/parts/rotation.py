"""A pytest plugin (``-p tests.parts.rotation``): a change runs a third of the test files, and other changes run the
others.

It is used for tests that take seconds each. Some tests always run: those with which the page of promises proves a
promise, those marked ``every_change``, files about the code that the change touches, and files that quote words that
the change removes from a message.

Files with about equal durations are put into groups of three, and the seed of the change draws one file of each group.
So all runs take about as long, and ten changes together run 98 % of the files.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path, PurePath

import pytest

from tests import levels
from tests.parts import census, durations, plan, quotations

PROMISES = levels.ROOT / "docs" / "explanation" / "promises.md"
TEST_ID = re.compile(r"`([a-z_/]+\.py)::(test_[a-z0-9_]+)`")
SHARE = 3
"""One file in this many is drawn."""
FRAMEWORKS = "tests/frameworks/"
PRODUCT = ("coordinator", "protocol", "runners")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Apply the rotation to the tests of the level, so that the sum of running and omitted tests is equal for each
    seed."""
    yield
    files = {os.path.relpath(item.path, levels.ROOT) for item in items}
    resting = resting_files(files, durations.read().files, levels.seed(), _is_near)
    promised_names = promised_tests(PROMISES.read_text())
    resting_items = {
        item
        for item in items
        if _name(item)[0] in resting
        and _name(item) not in promised_names
        and not item.get_closest_marker("every_change")
    }
    census.count_resting(len(resting_items))
    config.hook.pytest_deselected(items=[item for item in items if item in resting_items])
    items[:] = [item for item in items if item not in resting_items]


def resting_files(
    files: Collection[str], seconds: Mapping[str, float], seed: str, is_near: Callable[[str], bool]
) -> frozenset[str]:
    """The files that this change leaves to others: of each ``SHARE`` files with about equal duration, all but one."""
    if levels.LEVEL == 2:
        return frozenset()
    by_duration = sorted(files, key=lambda file: (-seconds.get(file, 0.0), file))
    draw = random.Random(f"{seed}/rotation")
    groups = [by_duration[place : place + SHARE] for place in range(0, len(by_duration), SHARE)]
    drawn_files = {draw.choice(group) for group in groups}
    return frozenset(file for file in by_duration if file not in drawn_files and not is_near(file))


def is_near(file: str, text: str, touched_files: Collection[str]) -> bool:
    """Whether a file of tests, with this text, is about what a change touches.

    It is touched itself, imports a module that is, or has the name of that module's package in its own path:
    ``tests/faults/dispatch/test_stuck.py`` and ``tests/acceptance/test_cli_check.py`` for ``coordinator/dispatch`` and
    ``coordinator/cli``. Tests of a framework are about all that its runner is made of.
    """
    if file in touched_files:
        return True
    if file.startswith(FRAMEWORKS):
        return _is_of_runner(PurePath(file).parts[2], touched_files)
    words = set(re.split(r"[/_.]", file))
    modules = [PurePath(name) for name in touched_files if name.endswith(".py") and name.startswith(PRODUCT)]
    return any(
        words.intersection(module.parts[1:-1]) or f"{'.'.join(module.with_suffix('').parts)} import" in text
        for module in modules
    )


def _is_of_runner(framework: str, touched_files: Collection[str]) -> bool:
    """Whether a change touches the code or the tests of a framework's runner."""
    folders = [PurePath(name).parts[:-1] for name in touched_files if not PurePath(name).name.startswith("test_")]
    of_others = set(plan.FRAMEWORKS) - {framework}
    return any(
        (folder[0] in ("protocol", "runners") and of_others.isdisjoint(folder))
        or (folder[:2] == ("tests", "frameworks") and folder[2:3] in (("common",), (framework,)))
        for folder in folders
        if folder
    )


def promised_tests(page: str) -> frozenset[tuple[str, str]]:
    """File and function of each test with which the page of promises proves a promise."""
    promises = page.split("\n## The promises\n")[1].split("\n## ")[0]
    return frozenset((f"tests/{file}", name) for file, name in TEST_ID.findall(promises))


def _is_near(file: str) -> bool:
    text = (levels.ROOT / file).read_text()
    return is_near(file, text, levels.touched()) or quotations.quotes(text, quotations.of_last_day())


def _name(item: pytest.Item) -> tuple[str, str]:
    return os.path.relpath(Path(item.path), levels.ROOT), getattr(item, "originalname", item.name)
