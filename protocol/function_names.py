"""Selects functions by globs, and suggests similar names for unknown names. Campaigns and bundles use it. Does no
I/O."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

MOST_GUESSED = 3
"""The maximum number of unknown functions for which similar names are searched, because the search is slow."""
MOST_UNKNOWN = 50
"""Maximum number of unknown functions in a message."""
MOST_CLOSE = 3
ALMOST = 0.15
"""The maximum difference in similarity between the most similar name and other suggestions."""
_WILD = frozenset("*?[")


@dataclass(frozen=True)
class ChosenFunctions:
    """The functions that match a glob, and the globs without a match."""

    functions: frozenset[str]
    unknown: tuple[str, ...]


def choose_functions(globs: Iterable[str], functions: Iterable[str]) -> ChosenFunctions:
    there = set(functions)
    ordered_names = sorted(there)
    selection: set[str] = set()
    unknown: list[str] = []
    for glob in dict.fromkeys(globs):
        # Plain names are looked up in a set, because comparing a thousand of them with a hundred thousand names would
        # be slow.
        matches = [name for name in ordered_names if fnmatchcase(name, glob)] if set(glob) & _WILD else there & {glob}
        if matches:
            selection.update(matches)
        else:
            unknown.append(glob)
    return ChosenFunctions(frozenset(selection), tuple(unknown))


def no_function_matches(globs: Sequence[str], functions: Iterable[str]) -> str:
    """A sentence about globs that match no function, with similar names for the first few."""
    all_names = sorted(set(functions))
    sentences = [f"no function matches '{glob}'{did_you_mean(glob, all_names)}" for glob in globs[:MOST_GUESSED]]
    sentences += [f"none matches '{glob}'" for glob in globs[MOST_GUESSED:MOST_UNKNOWN]]
    further = len(globs) - MOST_UNKNOWN
    return "; ".join([*sentences, f"and {further} more match none"] if further > 0 else sentences)


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """A suggestion such as ``; did you mean torch.argsort?``. Empty if no name is similar."""
    close = close_names(name, names)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def close_names(name: str, names: Sequence[str]) -> list[str]:
    """At most three suggestions: names that end with the same word (``cumsum``, ``np.cumsum``) or, if there are none,
    the most similar names."""
    plain = name.strip("*")
    last = plain.rpartition(".")[2]
    ending_alike = [other for other in names if other != name and other.rpartition(".")[2] == last]
    among, cutoff = (ending_alike, 0.0) if ending_alike else (names, 0.5)
    close = difflib.get_close_matches(plain, among, n=MOST_CLOSE, cutoff=cutoff)
    best = _alikeness(plain, close[0]) if close else 0.0
    return [other for other in close if _alikeness(plain, other) >= best - ALMOST]


def _alikeness(name: str, other: str) -> float:
    return difflib.SequenceMatcher(None, other, name).ratio()
