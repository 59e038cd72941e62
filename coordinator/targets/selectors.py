"""Target selectors: ``torch/cpu``, ``torch@2.9/*``, ``*/xla``. Pure.

``framework[@version]/device``; framework and device are globs, a version matches itself and
everything below it (``2.9`` matches ``2.9.0`` and ``2.9.1``, not ``2.90``).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from coordinator.errors import UnknownNameError

MOST_AWAY = 3
"""Runners that are away which a message names."""
MOST_GUESSED = 3
"""Unknown functions for which a message names close ones: to look for them takes long."""
MOST_UNKNOWN = 50
"""Unknown functions which a message names."""
_WILD = frozenset("*?[")
_SHAPE = re.compile(r"^(?P<framework>[\w*?\[\]-]+)(?:@(?P<version>[\w.+*?-]+))?/(?P<device>[\w*?\[\]-]+)$")


class Named(Protocol):
    """A row, runner or target that has a framework, a version and a device."""

    @property
    def framework(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def device(self) -> str: ...


class NumberedTarget(Named, Protocol):
    """A target with its number in the database."""

    @property
    def id(self) -> int: ...


def spelled(target: Named) -> str:
    """``torch@2.9.0/xla``: a target as people and selectors write it."""
    return f"{target.framework}@{target.version}/{target.device}"


@dataclass(frozen=True)
class TargetName:
    """The part of a target that selectors can see."""

    id: int
    framework: str
    version: str
    device: str

    def __str__(self) -> str:
        return spelled(self)


@dataclass(frozen=True)
class Selector:
    framework: str
    version: str | None
    device: str

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Raises ``UnknownNameError`` if the text has another shape."""
        match = _SHAPE.match(text.strip())
        if match is None:
            raise UnknownNameError(
                f"'{text}' is not a target selector: write framework/device or framework@version/device, "
                "such as torch/cpu or torch@2.9/*",
                "targets",
            )
        return cls(match["framework"], match["version"], match["device"])

    def matches(self, target: Named) -> bool:
        return (
            fnmatchcase(target.framework, self.framework)
            and fnmatchcase(target.device, self.device)
            and (self.version is None or _version_matches(target.version, self.version))
        )


def _version_matches(version: str, wanted: str) -> bool:
    return version == wanted or version.startswith(wanted + ".") or fnmatchcase(version, wanted)


def select_targets(selectors: Sequence[str], live: Iterable[TargetName], away: Sequence[str] = ()) -> list[TargetName]:
    """The live targets that the selectors name, each once, in order of the selectors.

    Raises ``UnknownNameError`` for a selector that matches nothing, saying what is live, and of what is registered and
    ``away`` why.
    """
    nothing = f"none; {'; '.join(away[:MOST_AWAY])}" if away else "none; register one first"
    return _select(selectors, live, "live runner's target", "live", nothing)


def select_of_campaign(selectors: Sequence[str], targets: Iterable[TargetName]) -> list[TargetName]:
    """The same among the targets of one campaign."""
    return _select(selectors, targets, "target of the campaign", "its own", "none")


def _select(
    selectors: Sequence[str], targets: Iterable[TargetName], noun: str, whose: str, nothing: str
) -> list[TargetName]:
    targets = list(targets)
    chosen: dict[int, TargetName] = {}
    for text in selectors:
        matched = [target for target in targets if Selector.parse(text).matches(target)]
        if not matched:
            there = ", ".join(sorted(str(target) for target in targets)) or nothing
            raise UnknownNameError(f"the selector '{text}' matches no {noun} ({whose}: {there})", "targets")
        chosen.update((target.id, target) for target in matched)
    return list(chosen.values())


@dataclass(frozen=True)
class ChosenFunctions:
    """The functions that globs name, and the globs that name none."""

    functions: frozenset[str]
    unknown: tuple[str, ...]


def select_functions(globs: Sequence[str], functions: Iterable[str]) -> ChosenFunctions:
    """Find the functions that the globs name.

    Raises ``UnknownNameError`` if none of the globs names one, with names that are close to each.
    """
    there = set(functions)
    known = sorted(there)
    chosen: set[str] = set()
    unknown: list[str] = []
    for glob in dict.fromkeys(globs):
        # A thousand plain names are looked up, not searched for in each of a hundred thousand.
        matched = [name for name in known if fnmatchcase(name, glob)] if set(glob) & _WILD else there & {glob}
        if matched:
            chosen.update(matched)
        else:
            unknown.append(glob)
    if unknown and not chosen:
        raise UnknownNameError(_no_function_matches(unknown, known), "functions")
    return ChosenFunctions(frozenset(chosen), tuple(unknown))


def _no_function_matches(globs: Sequence[str], known: Sequence[str]) -> str:
    told = [f"no function matches '{glob}'{did_you_mean(glob, known)}" for glob in globs[:MOST_GUESSED]]
    told += [f"none matches '{glob}'" for glob in globs[MOST_GUESSED:MOST_UNKNOWN]]
    further = len(globs) - MOST_UNKNOWN
    return "; ".join([*told, f"and {further} more match none"] if further > 0 else told)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name.strip("*"), known, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""
