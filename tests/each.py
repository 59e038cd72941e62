"""``check_each`` checks a property of every member of a list, and its failure names every member without the property.

A test of a list then counts as one pytest test and not as hundreds. Two facts must stay visible: which members failed,
and how many were checked. So an empty list is an error, and ``tests/levels.py`` reports the count at the end of a run.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest

Member = TypeVar("Member")

# A message has to be read: what breaks everywhere is explained by its first members, and the rest are named.
MOST_EXPLAINED = 20
MOST_CHARACTERS = 2000

count = 0
"""The number of members that this process has checked."""


class EmptyListError(ValueError):
    """Raised for an empty list, because a check of no members always passes."""


def check_each(
    members: Iterable[Member], check: Callable[[Member], Any], *, name: Callable[[Member], str] = str
) -> None:
    """Check every member, then fail once with all that failed. A check fails by raising; its result is not read.

    ``pytest.skip`` in a check passes over that member, which is not counted; if all are passed over, the test is
    skipped.
    """
    global count
    failures: list[tuple[str, str]] = []
    skips: list[str] = []
    checked = 0
    for member in members:
        try:
            check(member)
        except pytest.skip.Exception as skip:
            skips.append(f"{name(member)}: {skip.msg}")
            continue
        except Exception as error:
            failures.append((name(member), _explanation(error)))
        checked += 1
    count += checked
    if failures:
        pytest.fail(_message(failures, checked), pytrace=False)
    if not checked:
        if skips:
            pytest.skip(skips[0])
        raise EmptyListError("there is no member to check: the list that was to be checked is empty")


def _message(failures: list[tuple[str, str]], checked: int) -> str:
    lines = [f"{len(failures)} of {checked} fail:"]
    lines += [f"  {name}: {explanation}" for name, explanation in failures[:MOST_EXPLAINED]]
    if rest := failures[MOST_EXPLAINED:]:
        lines.append(f"  and without their explanation: {', '.join(name for name, _ in rest)}")
    return "\n".join(lines)


def _explanation(error: Exception) -> str:
    """The error and its line. An assertion's text already contains the values, because pytest explains them."""
    frames = traceback.extract_tb(error.__traceback__)
    line = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = str(error)[:MOST_CHARACTERS].replace("\n", "\n    ")
    return f"{type(error).__name__}: {text}{line}"
