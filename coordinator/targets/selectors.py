"""Target selectors: ``torch/cpu``, ``torch@2.9/*``, ``*/xla``. No I/O.

The form is ``framework[@version]/device``. Framework and device are globs. A version matches itself and all versions
that begin with its numbers (``2.9`` matches ``2.9.0`` and ``2.9.1``, not ``2.90``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from coordinator.errors import UnknownNameError
from protocol.function_names import ChosenFunctions, choose_functions, no_function_matches

MOST_AWAY = 3
"""The maximum number of absent runners (runners that are not online) that a message names."""
_SHAPE = re.compile(r"^(?P<framework>[\w*?\[\]-]+)(?:@(?P<version>[\w.+*?-]+))?/(?P<device>[\w*?\[\]-]+)$")


class NamedTarget(Protocol):
    """A row, runner or target that has a framework, a version and a device."""

    @property
    def framework(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def device(self) -> str: ...


class NumberedTarget(NamedTarget, Protocol):
    """A target with its number in the database."""

    @property
    def id(self) -> int: ...


def target_name(target: NamedTarget) -> str:
    """The name of a target for people and selectors: ``torch@2.9.0/xla``."""
    return f"{target.framework}@{target.version}/{target.device}"


@dataclass(frozen=True)
class TargetName:
    """The attributes of a target that selectors use."""

    id: int
    framework: str
    version: str
    device: str

    def __str__(self) -> str:
        return target_name(self)


@dataclass(frozen=True)
class Selector:
    framework: str
    version: str | None
    device: str

    def __str__(self) -> str:
        return f"{self.framework}{f'@{self.version}' if self.version else ''}/{self.device}"

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Parse a selector. Raises ``UnknownNameError`` if the text has another form."""
        match = _SHAPE.match(text.strip())
        if match is None:
            raise UnknownNameError(
                f"'{text}' is not a target selector: write framework/device or framework@version/device, "
                "such as torch/cpu or torch@2.9/*",
                "targets",
            )
        return cls(match["framework"], match["version"], match["device"])

    def matches_name(self, target: str) -> bool:
        """Whether the selector matches a target name that ``target_name`` made."""
        framework, _, rest = target.partition("@")
        version, _, device = rest.rpartition("/")
        return self.matches(TargetName(0, framework, version, device))

    def matches(self, target: NamedTarget) -> bool:
        return (
            fnmatchcase(target.framework, self.framework)
            and fnmatchcase(target.device, self.device)
            and (self.version is None or _version_matches(target.version, self.version))
        )


def _version_matches(version: str, pattern: str) -> bool:
    return version == pattern or version.startswith(pattern + ".") or fnmatchcase(version, pattern)


def select_targets(selectors: Sequence[str], live: Iterable[TargetName], away: Sequence[str] = ()) -> list[TargetName]:
    """The live targets that the selectors name, without repetition, in the order of the selectors.

    Raises ``UnknownNameError`` for a selector that matches nothing. The message names the live targets, and the reasons
    why registered runners are ``away``.
    """
    nothing = "; ".join(("none", *away[:MOST_AWAY]))
    if away:
        hint = "wait until one of these runners is online"
    else:
        hint = "register a runner with `portolan runner register URL`"
    return _select(selectors, live, "live runner's target", "live", nothing, hint)


def select_of_campaign(selectors: Sequence[str], targets: Iterable[TargetName]) -> list[TargetName]:
    """The targets of one campaign that the selectors name."""
    return _select(selectors, targets, "target of the campaign", "its own", "none", "submit another campaign")


def _select(
    selectors: Sequence[str], targets: Iterable[TargetName], noun: str, whose: str, nothing: str, hint: str
) -> list[TargetName]:
    targets = list(targets)
    target_by_id: dict[int, TargetName] = {}
    for text in selectors:
        matches = [target for target in targets if Selector.parse(text).matches(target)]
        if not matches:
            there = ", ".join(sorted(str(target) for target in targets)) or nothing
            step = "select one of these targets" if targets else hint
            raise UnknownNameError(f"the selector '{text}' matches no {noun} ({whose}: {there}); {step}", "targets")
        target_by_id.update((target.id, target) for target in matches)
    return list(target_by_id.values())


def select_functions(globs: Sequence[str], functions: Iterable[str]) -> ChosenFunctions:
    """Find the functions that the globs name. Raises ``UnknownNameError``, with similar names, if no glob matches."""
    all_functions = set(functions)
    selection = choose_functions(globs, all_functions)
    if selection.unknown and not selection.functions:
        raise UnknownNameError(no_function_matches(selection.unknown, all_functions), "functions")
    return selection
