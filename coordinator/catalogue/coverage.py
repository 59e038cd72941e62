"""Coverage: how much of a release's public surface a suite charts, plain and weighted by use. Pure but for one file."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from coordinator.catalogue.surfaces import CHARTABLE, Surface
from coordinator.catalogue.usage.counts import ResolvedCounts, UseCount

FUNCTIONS = CHARTABLE - {"method", "classmethod", "staticmethod", "property"}
"""The kinds that modules hold; the others are members of classes."""


@dataclass(frozen=True)
class Share:
    """Some of all, in numbers."""

    charted: int
    of: int

    @property
    def ratio(self) -> float | None:
        return self.charted / self.of if self.of else None


@dataclass(frozen=True)
class Coverage:
    """The part of one release that a suite charts."""

    suite: str
    release: str
    functions: Share
    """Functions and classes of modules; what never touches a device is left out here and in all shares."""
    members: Share
    """Methods and properties of classes."""
    uses: Share | None
    """Uses that are certain, of functions and members; None without counts."""
    uses_guessed: Share | None
    """The same with uses whose receiver's class was guessed."""
    host_only: int
    """Entries that never touch a device."""
    host_only_uses: int
    host_only_charted: int
    removed: tuple[str, ...]
    """Functions of the suite that the release does not have."""
    unresolved_uses: int
    """Uses of names that the release does not have, or that name a module or a value."""


def coverage(
    suite: str,
    functions: Collection[str],
    surface: Surface,
    counts: ResolvedCounts | None,
    host_only: Mapping[str, str],
) -> Coverage:
    """Set the functions that a suite charts beside the release's surface."""
    resolved = {name: surface.resolve(name) for name in sorted(set(functions))}
    charted = {entry.name for entry in resolved.values() if entry is not None}
    host = {entry.name for entry in surface.entries if entry.kind in CHARTABLE and is_host_only(entry.name, host_only)}
    kinds = {entry.name: entry.kind for entry in surface.entries if entry.kind in CHARTABLE and entry.name not in host}
    uses = {} if counts is None else counts.uses

    def share(of: Collection[str]) -> Share:
        return Share(len(charted.intersection(of)), len(of))

    def weighted(weight: Mapping[str, int]) -> Share:
        return Share(sum(weight[name] for name in charted.intersection(weight)), sum(weight.values()))

    certain = {name: count.certain for name, count in uses.items() if name in kinds}
    every = {name: count.all for name, count in uses.items() if name in kinds}
    return Coverage(
        suite=suite,
        release=surface.release,
        functions=share([name for name, kind in kinds.items() if kind in FUNCTIONS]),
        members=share([name for name, kind in kinds.items() if kind not in FUNCTIONS]),
        uses=None if counts is None else weighted(certain),
        uses_guessed=None if counts is None else weighted(every),
        host_only=len(host),
        host_only_uses=sum(uses[name].certain for name in host if name in uses),
        host_only_charted=len(charted & host),
        removed=tuple(name for name, entry in resolved.items() if entry is None),
        unresolved_uses=_certain(counts.unresolved if counts is not None else {}),
    )


def _certain(uses: Mapping[str, UseCount]) -> int:
    return sum(count.certain for count in uses.values())


def is_host_only(name: str, host_only: Mapping[str, str]) -> bool:
    return name in host_only or any(fnmatch.fnmatchcase(name, glob) for glob in _globs(frozenset(host_only)))


@cache
def _globs(names: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if "*" in name))


def declared_host_only() -> dict[str, str]:
    """The functions that never touch a device, by name or glob, each with the reason."""
    text = (files("coordinator.catalogue") / "data" / "host_only.toml").read_text(encoding="utf-8")
    return {name: reason for reason, names in tomllib.loads(text).items() for name in names}
