"""Tracks numbers that were picked out of arrays on the device, also through later computations.

The rule in ``host_work.py`` asks how many numbers of one array the host reads one by one. Two arrays of equal size
count separately, and a number that was computed from several numbers counts once. The watch of a framework reports
picks and computations. Arrays are identified by object identity, and entries of deleted arrays are dropped.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Source:
    """An array, or a part of one, out of which numbers are picked."""

    numbers: int
    whole: Source | None = None
    """The array that it is a part of."""


@dataclass(frozen=True, eq=False)
class Pick:
    """One number, picked out of an array."""

    source: Source

    def sources(self) -> Iterator[Source]:
        """The array that it was picked out of, then those that this is a part of."""
        source: Source | None = self.source
        while source is not None:
            yield source
            source = source.whole


class Picks:
    """The numbers on a device that were picked, or computed of such."""

    def __init__(self, size: Callable[[Any], int]) -> None:
        """``size`` gives how many numbers an array holds."""
        self._size = size
        self._behind: _ByIdentity[frozenset[Pick]] = _ByIdentity()
        self._sources: _ByIdentity[Source] = _ByIdentity()

    def behind(self, array: Any) -> frozenset[Pick]:
        """The numbers of which an array of one number was made; none where it is not known to be of any."""
        return self._behind.get(array) or frozenset()

    def note_parts(self, array: Any, parts: Iterable[Any]) -> None:
        """Note what was taken out of an array: single numbers, parts of it, or the whole in another form."""
        if self._size(array) <= 1:
            self.note_results([array], list(parts))
            return
        source = self._source(array)
        for part in parts:
            if self._size(part) == 1:
                self._behind.set(part, frozenset({Pick(source)}))
            elif self._size(part) == source.numbers:
                self._sources.set(part, source)
            else:
                self._sources.set(part, Source(self._size(part), source))

    def note_results(self, inputs: Iterable[Any], results: Sequence[Any]) -> None:
        """Note what was computed: single numbers that are made of picked ones."""
        behind = frozenset[Pick]().union(*map(self.behind, inputs))
        if behind and all(self._size(array) == 1 for array in results):
            for array in results:
                self._behind.set(array, behind)

    def _source(self, array: Any) -> Source:
        source = self._sources.get(array)
        if source is None:
            source = Source(self._size(array))
            self._sources.set(array, source)
        return source


class _ByIdentity(Generic[Value]):
    """Values by the identity of objects that may have no hash; gone with them."""

    def __init__(self) -> None:
        self._values: dict[int, tuple[weakref.ref[Any], Value]] = {}

    def get(self, key: Any) -> Value | None:
        reference, value = self._values.get(id(key), (None, None))
        return value if reference is not None and reference() is key else None

    def set(self, key: Any, value: Value) -> None:
        name = id(key)
        self._values[name] = weakref.ref(key, lambda _: self._values.pop(name, None)), value
