"""Quotations: words that a change removes from Portolan's messages, and the tests that still quote them.

A test of a command or a page quotes output, although its file imports nothing from the module with the message. So such
a file belongs to the change, too. Does no I/O, except ``of_last_day``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests import levels

WORDS = 4
"""The number of consecutive words in a line that count as a quotation."""
PRODUCT = ("coordinator", "protocol", "runners", "portolan")
A_DAY_S = 86_400
DOCSTRING = 3 * '"'
VALUE = "#"
"""Stands for a value in a message, or for a number that a test expects there."""
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_INSERTED = re.compile(r"{{.*?}}|{[^{}]*}|\d+")
_BETWEEN = re.compile(r"{%.*?%}|<[^<>]*>|\\n")


def find_removed_phrases(diffs: Iterable[str]) -> frozenset[str]:
    """The phrases of ``WORDS`` words that unified diffs, the oldest first, remove from messages and do not add
    again."""
    phrases: set[str] = set()
    for diff in diffs:
        lines: dict[str, set[str]] = {"-": set(), "+": set()}
        suffix = ""
        for line in diff.splitlines():
            if line.startswith(("--- ", "+++ ")):
                suffix = Path(line).suffix
            elif line[:1] in lines:
                lines[line[0]].update(phrases_of(line[1:], suffix))
        phrases = (phrases | lines["-"]) - lines["+"]
    return frozenset(phrases)


def phrases_of(line: str, suffix: str = ".py") -> Iterator[str]:
    """The phrases of a line's messages: texts in double quotes for Python, everything except tags for a page."""
    for message in _messages(line, suffix):
        for text in _BETWEEN.split(message):
            words = _INSERTED.sub(VALUE, text).split()
            for place in range(len(words) - WORDS + 1):
                yield " ".join(words[place : place + WORDS])


def _messages(line: str, suffix: str) -> list[str]:
    if suffix == ".py" and DOCSTRING not in line:
        return _LITERAL.findall(line)
    return [line] if suffix == ".html" else []


def quotes(text: str, phrases: frozenset[str]) -> bool:
    """Whether a test file has one of the phrases in a literal."""
    return any(not phrases.isdisjoint(phrases_of(line)) for line in text.splitlines())


@cache
def of_last_day() -> frozenset[str]:
    """The phrases that the commits of the last day and uncommitted changes removed; empty without git.

    The period is a day, because the base of a change is only the previous commit if a clone is at its upstream.
    """
    commit_time = levels.git("log", "-1", "--format=%ct")
    if commit_time is None:
        return frozenset()
    since = f"--since={int(commit_time) - A_DAY_S}"
    commits = levels.git("log", "--reverse", "--format=%x00", "--patch", "--unified=0", since, "--", *PRODUCT) or ""
    open_changes = levels.git("diff", "--unified=0", "HEAD", "--", *PRODUCT) or ""
    return find_removed_phrases([*commits.split("\0"), open_changes])
