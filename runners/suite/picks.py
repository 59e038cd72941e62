"""Tracks single numbers that a program picks out of arrays on the device, also through later computations.

The rule in ``host_work.py`` needs to know how many numbers of one array the host reads one by one. Two arrays of equal
size count separately, and a number that was computed from several numbers counts once. The watch of a framework reports
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
    """An array, or a part of an array, from which single numbers are picked."""

    numbers: int
    whole: Source | None = None
    """The array that contains this part; None for a whole array."""


@dataclass(frozen=True, eq=False)
class Pick:
    """One number that was picked from an array."""

    source: Source

    def sources(self) -> Iterator[Source]:
        """Yield the array or part that the number was picked from, then the larger arrays that contain this."""
        source: Source | None = self.source
        while source is not None:
            yield source
            source = source.whole


class Picks:
    """The single numbers on a device that were picked from arrays or computed from picked numbers."""

    def __init__(self, size: Callable[[Any], int]) -> None:
        """``size`` returns the number of elements of an array."""
        self._size = size
        self._behind: _ByIdentity[frozenset[Pick]] = _ByIdentity()
        self._sources: _ByIdentity[Source] = _ByIdentity()

    def behind(self, array: Any) -> frozenset[Pick]:
        """Return the picked numbers from which a one-element array was made; an empty set if none are known."""
        return self._behind.get(array) or frozenset()

    def note_parts(self, array: Any, parts: Iterable[Any]) -> None:
        """Record that ``parts`` were taken from an array: single numbers, slices, or the whole in another shape."""
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
        """Record the results of a computation. Single numbers inherit the picked numbers of the inputs."""
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
    """A mapping by object identity, for keys without a hash. An entry is dropped when its key is deleted."""

    def __init__(self) -> None:
        self._values: dict[int, tuple[weakref.ref[Any], Value]] = {}

    def get(self, key: Any) -> Value | None:
        reference, value = self._values.get(id(key), (None, None))
        return value if reference is not None and reference() is key else None

    def set(self, key: Any, value: Value) -> None:
        name = id(key)
        self._values[name] = weakref.ref(key, lambda _: self._values.pop(name, None)), value
