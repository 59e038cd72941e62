"""Levels: how many of the tests a run executes, and which sample of a long list it checks.

Level 1, the default, checks every property; a property of all members of a long list is checked on a sample. Level 2
checks every member.

The sample is drawn from the seed of the change. So every process of a run draws the same sample, a run can be repeated,
and the next change draws another sample. Cases that the change touches are always in the sample.

This module needs only the standard library and pytest, because it also runs in the frameworks' environments. A
``conftest.py`` imports its hooks, or names it in ``pytest_plugins``.
"""

from __future__ import annotations

import ast
import hashlib
import math
import os
import random
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests import each

Member = TypeVar("Member")

ROOT = Path(__file__).resolve().parents[1]
LEVEL_VARIABLE = "PORTOLAN_TEST_LEVEL"
SEED_VARIABLE = "PORTOLAN_TEST_SEED"
BASE_VARIABLE = "PORTOLAN_TEST_BASE"
TOUCHED_VARIABLE = "PORTOLAN_TEST_TOUCHED"
"""Names a file with the result of ``touched``, one path a line, so that each process need not parse every changed
module again."""
WITHOUT_GIT = "no-commit"
"""The seed if git does not know a commit."""

LEVEL = {"": 1, "1": 1, "2": 2}.get(os.environ.get(LEVEL_VARIABLE, ""), 0)
"""1 or 2. ``pytest_configure`` rejects other values, which are 0 here."""

MARKERS = (
    "level(number): needs that level; below it, the test is deselected",
    "drawn(share): at level 1, one in `share` of a function's parameters, or of the module's functions, runs",
    "every_change: whatever a change touches, it runs, though its file is left to another (tests/parts/rotation.py)",
)


def drawn(
    members: Iterable[Member],
    share: int,
    purpose: str,
    *,
    always: Callable[[Member], bool] = lambda member: False,
) -> list[Member]:
    """One in ``share`` of the members, in their order, and those that are always included; at level 2 all members.

    ``purpose`` names the use of the sample. Two samples of one list for different purposes are independent.
    """
    every = list(members)
    if LEVEL == 2:
        return every
    places = _sample(len(every), share, purpose)
    return [member for place, member in enumerate(every) if place in places or always(member)]


def _sample(size: int, share: int, purpose: str) -> frozenset[int]:
    return frozenset(random.Random(f"{seed()}/{purpose}").sample(range(size), math.ceil(size / share)))


def seed() -> str:
    """The seed of the change: from a variable or, without it, from the commit and the uncommitted changes."""
    return os.environ.get(SEED_VARIABLE) or _seed_of_commit()


@cache
def _seed_of_commit() -> str:
    commit = git("rev-parse", "HEAD")
    changes = git("diff", "HEAD")
    if commit is None or changes is None:
        return WITHOUT_GIT
    short = commit.strip()[:12]
    return f"{short}-{hashlib.sha256(changes.encode()).hexdigest()[:8]}" if changes else short


@cache
def touched() -> frozenset[str]:
    """The files of the change, relative to the project: changed since its base, uncommitted, or unknown to git.

    Does not include a module of which only comments, docstrings or layout changed: no test of the module can tell.
    The base comes from a variable; without it, it is the commit at which the branch left its upstream; without an
    upstream, the previous commit. The result is empty without git, or if a shallow clone lacks the base.
    """
    if stored := os.environ.get(TOUCHED_VARIABLE):
        return frozenset(Path(stored).read_text().splitlines())
    changed = git("diff", "--name-only", _base())
    untracked = git("ls-files", "--others", "--exclude-standard")
    if changed is None or untracked is None:
        return frozenset()
    return frozenset(filter(_behaves_differently, changed.splitlines())) | frozenset(untracked.splitlines())


def content_before(file: str) -> bytes | None:
    """The content of a file of the project at the base of the change; None if it did not exist, or without git."""
    return _git_output("show", f"{_base()}:{file}")


def _behaves_differently(file: str) -> bool:
    """Whether a changed file is anything else than a module with the syntax that it had before."""
    path = ROOT / file
    before = content_before(file) if path.suffix == ".py" and path.is_file() else None
    return before is None or _syntax(before) != _syntax(path.read_bytes())


def _syntax(source: bytes) -> str | None:
    """The syntax tree of a module without comments, docstrings and layout, as text; None if it does not parse."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # Also a text below an attribute, which is how attributes are documented.
            node.body = [statement for statement in body if not _is_text(statement)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(statement: ast.AST) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str)


def _base() -> str:
    if base := os.environ.get(BASE_VARIABLE):
        return base
    merge_base = git("merge-base", "HEAD", "@{upstream}")
    head = git("rev-parse", "HEAD")
    # On the upstream itself the change is the last commit.
    return merge_base.strip() if merge_base is not None and merge_base != head else "HEAD~1"


def git(*arguments: str) -> str | None:
    """The output of a git command, or None if it fails or git is missing."""
    output = _git_output(*arguments)
    return None if output is None else output.decode(errors="replace")


def _git_output(*arguments: str) -> bytes | None:
    command = ["git", "-C", str(ROOT), "-c", "core.quotePath=false", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def pytest_configure(config: pytest.Config) -> None:
    if not LEVEL:
        raise pytest.UsageError(f"{LEVEL_VARIABLE}={os.environ[LEVEL_VARIABLE]!r} is no level: set it to 1 or 2")
    # The processes of xdist inherit the seed. Otherwise a file that is saved while they start could change their draws.
    os.environ[SEED_VARIABLE] = seed()
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_report_header() -> str:
    if LEVEL == 2:
        return "level 2: every member of every list"
    return f"level 1 of 2, drawn by seed {seed()} (repeat it with {SEED_VARIABLE}={seed()})"


# This runs after -k and -m, so that the draw keeps at least one of the selected tests.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {item for item in items if _needed(item) > LEVEL} | _undrawn(items)
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _needed(item: pytest.Item) -> int:
    return max((int(marker.args[0]) for marker in item.iter_markers("level")), default=1)


def _undrawn(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    by_share: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if marker := item.get_closest_marker("drawn"):
            by_share[_list_of(item), int(marker.args[0])].append(item)
    return {
        item
        for (name, share), marked in by_share.items()
        for item in set(marked).difference(drawn(marked, share, f"{name}/{share}"))
    }


def _list_of(item: pytest.Item) -> str:
    """The list to which a test belongs. For a function with parameters it is the function, so that a draw keeps one of
    its tests."""
    separator = "[" if hasattr(item, "callspec") else "::"
    return item.nodeid.partition(separator)[0]


_counts: list[int] = []
"""The number of members that each xdist process has checked."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["members_checked"] = each.count


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    # A process that died has no output.
    _counts.append(getattr(node, "workeroutput", {}).get("members_checked", 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if members := each.count + sum(_counts):
        terminalreporter.write_line(f"members checked: {members}")
