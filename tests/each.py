"""``check_each`` checks one claim on every member of a list, and its failure names every member that breaks it.

One test over a list costs one test of pytest, not hundreds. What it must not lose is which members failed, and how many
were checked at all: an empty list is an error, and ``tests/levels.py`` reports the count when a run ends.
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
"""How many members this process has checked."""


class EmptyListError(ValueError):
    """A claim over no members would hold whatever the product does."""


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
    """What was raised, and the line of it: pytest has explained an assertion's values in its text."""
    frames = traceback.extract_tb(error.__traceback__)
    line = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = str(error)[:MOST_CHARACTERS].replace("\n", "\n    ")
    return f"{type(error).__name__}: {text}{line}"
