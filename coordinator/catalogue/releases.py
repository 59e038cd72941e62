"""Releases: the surface of a framework's release (the list of its public names), with the number of uses of each name.

Samples are drawn from a release, and coverage is the share of a release's names that have cases. Each release that
ships with Portolan is read only once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from coordinator.catalogue.surfaces import CHARTABLE, ROOTS, Surface, is_array_class, open_surface, shipped_releases
from coordinator.catalogue.usage.counts import UsageCounts, open_counts, resolve_counts
from protocol.host_only import HostOnly, load_host_only

FUNCTIONS = CHARTABLE - {"method", "classmethod", "staticmethod", "property"}
"""The kinds of surface entries that are members of modules. Entries of other kinds are members of classes."""

Uses = Mapping[str, Mapping[str, int]]
"""The number of uses of each object. The first key is the object's canonical name, the second the name that programs
use."""


@dataclass(frozen=True)
class Release:
    """A release of a framework, with its names sorted for the comparison with charted functions."""

    surface: Surface
    kinds: Mapping[str, str]
    """The kinds of the functions and classes that can be charted on a device. The keys are canonical names."""
    host_only: frozenset[str]
    arrays: frozenset[str]
    """The canonical names of the array classes."""
    corpus: str | None
    """The programs in which uses were counted. None if there are no counts; no name then counts as used."""
    certain: Uses
    guessed: Uses
    unresolved_uses: int

    @property
    def name(self) -> str:
        return self.surface.release

    @cached_property
    def functions(self) -> frozenset[str]:
        """The functions and classes in modules."""
        return frozenset(name for name, kind in self.kinds.items() if kind in FUNCTIONS)

    @cached_property
    def members(self) -> frozenset[str]:
        """The methods and properties of classes."""
        return frozenset(self.kinds) - self.functions

    @cached_property
    def certain_uses(self) -> int:
        return self._all(self.certain)

    @cached_property
    def guessed_uses(self) -> int:
        return self._all(self.guessed)

    def _all(self, uses: Uses) -> int:
        return sum(sum(by_name.values()) for name, by_name in uses.items() if name in self.kinds)


def make_release(surface: Surface, counts: UsageCounts | None, host_only: HostOnly) -> Release:
    """Assign each use to its object, and separate the names that are excluded from shares. Does no I/O."""
    chartable = {entry.name: entry.kind for entry in surface.entries if entry.kind in CHARTABLE}
    arrays = frozenset(name for name, kind in chartable.items() if kind == "class" and is_array_class(name))
    host = frozenset(name for name in chartable if name in host_only)
    resolution = resolve_counts(counts, surface, ROOTS[surface.header.framework]) if counts is not None else None
    by_name = resolution.by_name if resolution is not None else {}
    unresolved_counts = resolution.unresolved.values() if resolution is not None else ()
    return Release(
        surface=surface,
        kinds={name: kind for name, kind in chartable.items() if name not in host and name not in arrays},
        host_only=host,
        arrays=arrays,
        corpus=counts.corpus if counts is not None else None,
        certain={
            name: {written_name: count.certain for written_name, count in uses.items() if count.certain}
            for name, uses in by_name.items()
        },
        guessed={
            name: {written_name: count.guessed for written_name, count in uses.items() if count.guessed}
            for name, uses in by_name.items()
        },
        unresolved_uses=sum(count.certain for count in unresolved_counts),
    )


@cache
def shipped_release(name: str) -> Release:
    """A release whose surface ships with Portolan, with the counts of use."""
    return make_release(open_surface(name), _shipped_counts(), load_host_only())


@cache
def _shipped_counts() -> UsageCounts:
    return open_counts(None)


def nearest(framework: str, version: str) -> str | None:
    """The shipped release with this version. If there is none, the newest older release; if there is no older release,
    the oldest release. None for an unknown framework."""
    own = [name for name in shipped_releases() if name.partition("@")[0] == framework]
    in_order = sorted(own, key=lambda name: version_numbers(name.partition("@")[2]))
    earlier = [name for name in in_order if version_numbers(name.partition("@")[2]) <= version_numbers(version)]
    return next(iter([*earlier[-1:], *in_order]), None)


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, by which versions are sorted. The local label (``+cpu`` in ``2.9.0+cpu``) is
    ignored."""
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))
