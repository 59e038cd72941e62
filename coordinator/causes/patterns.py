"""Regular expressions for text from runners. Matching takes time linear in the length of the text.

Python's own engine backtracks: a pattern that looks harmless can take minutes on some texts, and blocks all other
threads during this time. RE2 does not backtrack, and lets other threads run. It rejects patterns that need backtracking
(with a look-around or a back-reference).
"""

from __future__ import annotations

from collections.abc import Iterable

import re2

from coordinator.errors import PatternError

MEMORY_BYTES = 16 << 20
"""The memory for the cached states of one set. When the memory is full, RE2 drops the cached states, and matching stays
linear."""


class PatternSet:
    """A set of patterns that are searched for in one pass."""

    def __init__(self, patterns: Iterable[str], *, whole: bool = False) -> None:
        """With ``whole``, a pattern must match the whole text; otherwise a part of the text is enough. Raises
        ``PatternError``."""
        self._patterns = tuple(dict.fromkeys(patterns))
        self._set = (re2.Set.FullMatchSet if whole else re2.Set.SearchSet)(_options())
        for pattern in self._patterns:
            require_linear(pattern)
            self._set.Add(pattern)
        self._set.Compile()

    def found_in(self, text: str) -> frozenset[str]:
        """The patterns that match ``text``."""
        return frozenset(self._patterns[index] for index in self._set.Match(_encode(text)) or ())


class Eraser:
    """Removes every match of a pattern from a text."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re2.compile(pattern, _options())

    def erase(self, text: str) -> str:
        remainder: bytes = self._pattern.sub(b"", _encode(text))
        return remainder.decode()


def require_linear(pattern: str) -> None:
    """Raise ``PatternError``, with the reason, for a pattern that cannot be matched in linear time."""
    try:
        re2.compile(pattern, _options())
    except re2.error as error:
        reason = error.args[0] if error.args else error
        raise PatternError(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from error


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY_BYTES
    return options


def _encode(text: str) -> bytes:
    return text.encode(errors="replace")  # a lone surrogate has no UTF-8
