"""Reads the inputs and results of the function in a run of its example.

A failure is the function's fault only if the function got the same inputs on the host. So after a failure, the example
runs again on the device and on the host, and the readings of both runs are compared. A run that is watched, timed or
judged takes no readings.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from runners.errors import UnfreezableError
from runners.suite.checks import Leaf

_DEPTH = 4
"""The maximum depth at which attributes of an object are searched for arrays."""
_NUMBERS = (bool, int, float, complex)


class Arrays(Protocol):
    """The methods of a dialect that recognize and convert the framework's objects."""

    def is_array(self, value: Any) -> bool: ...

    def plain(self, value: Any) -> Any: ...


@dataclasses.dataclass(frozen=True)
class Unread:
    """An array that could not be read, with the reason."""

    why: str


class Readings:
    """The readings of one run by their labels. An array is read at once, because a later line may change it."""

    def __init__(self, arrays: Arrays, to_host: Callable[[Any], Any]) -> None:
        self.inputs: dict[str, Any] = {}
        self.results: dict[str, Any] = {}
        self._arrays = arrays
        self._to_host = to_host

    def take(self, label: str, value: Any) -> None:
        """Read a value that another line of the example made for the function."""
        self._add(self.inputs, label, value)

    def give(self, label: str, value: Any) -> None:
        """Read a result of the function from which the same expression computes something else."""
        self._add(self.results, label, value)

    def _add(self, readings: dict[str, Any], label: str, value: Any) -> None:
        reading = self._read(value, _DEPTH)
        if reading is not None:
            number = sum(other == label or other.startswith(f"{label}, time ") for other in readings)
            readings[f"{label}, time {number + 1}" if number else label] = reading

    def _read(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, (*_NUMBERS, np.generic)):
            return value
        if isinstance(value, np.ndarray):
            return value.copy()
        if self._arrays.is_array(value):
            return self._read_array(value)
        if isinstance(value, (list, tuple)):
            return [self._read(member, depth) for member in value]
        if isinstance(value, Mapping):
            return {str(key): self._read(member, depth) for key, member in value.items()}
        if isinstance(value, (str, bytes, type, ModuleType)) or inspect.isroutine(value):
            return None
        try:
            return self._read(self._arrays.plain(value), depth)
        except UnfreezableError:
            return self._read_members(value, depth - 1) if depth else None

    def _read_array(self, array: Any) -> Any:
        try:
            return _copied(self._to_host(array))
        except Exception as error:  # an asynchronous device raises here what an earlier call could not compute
            return Unread(f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}")

    def _read_members(self, value: Any, depth: int) -> Any:
        """Read the arrays in an object's attributes. Numbers are left out: they may be counters of anything."""
        members = {
            name: reading
            for name, member in getattr(value, "__dict__", {}).items()
            if not isinstance(member, (*_NUMBERS, np.generic))
            if (reading := self._read(member, depth)) is not None
        }
        return members or None


def _copied(tree: Any) -> Any:
    """Copy the host arrays of a tree: they may share memory with arrays that a later line changes."""
    if isinstance(tree, Leaf):
        return dataclasses.replace(tree, values=tree.values.copy())
    return {key: _copied(member) for key, member in tree.items()} if isinstance(tree, Mapping) else tree


def landed(tree: Any, to_host: Callable[[Any], Any]) -> Any:
    """Copy all arrays in a tree of readings to the host. The results of a compiled run are read only after it."""
    if isinstance(tree, Mapping):
        return {key: landed(member, to_host) for key, member in tree.items()}
    if isinstance(tree, list):
        return [landed(member, to_host) for member in tree]
    return tree if isinstance(tree, (Leaf, Unread)) else to_host(tree)


def arrays_of(reading: Any) -> Iterator[Leaf]:
    """Yield the framework's arrays in a reading, without NumPy's arrays."""
    if isinstance(reading, Leaf) and reading.device != "host":
        yield reading
    elif isinstance(reading, Mapping):
        for member in reading.values():
            yield from arrays_of(member)
    elif isinstance(reading, list):
        for member in reading:
            yield from arrays_of(member)


@dataclasses.dataclass(frozen=True)
class ReadingComparison:
    """Compares readings with those of the host (``there``).

    ``again`` holds the readings of another run on the host with other seeds. A value that differs between the two runs
    on the host is random, so only its form is compared.
    """

    there: Mapping[str, Any]
    again: Mapping[str, Any]
    judge: Callable[[str, Any, Any], str | None]
    """Describes how an observed array or number differs from the expected one; returns None if it does not."""

    def first_difference(self, here: Mapping[str, Any]) -> str | None:
        """Describe the first reading that differs from the host's; None if none differs."""
        both = (label for label in here if label in self.there)
        found = (
            text
            for label in both
            for text in self._differences(label, here[label], self.there[label], self.again.get(label))
        )
        return next(found, None)

    def _differences(self, path: str, one: Any, other: Any, again: Any) -> Iterator[str]:
        if isinstance(other, Mapping):
            for key in other if isinstance(one, Mapping) else ():
                if key in one:
                    yield from self._differences(f"{path}, {key}", one[key], other[key], _member(again, key))
        elif isinstance(other, list):
            if not isinstance(one, list) or len(one) != len(other):
                yield f"{path} has {len(one) if isinstance(one, list) else 'no'} members instead of {len(other)}"
                return
            for index, (member, expected) in enumerate(zip(one, other)):
                yield from self._differences(f"{path}[{index}]", member, expected, _member(again, index))
        elif isinstance(one, Unread) and not isinstance(other, Unread):
            yield f"{path} cannot be read ({one.why})"
        elif isinstance(other, (Leaf, np.ndarray, np.generic, *_NUMBERS)):
            text = self._difference(path, one, other, again)
            if text is not None:
                yield f"{path}: {text}"

    def _difference(self, path: str, one: Any, other: Any, again: Any) -> str | None:
        is_array = isinstance(one, (Leaf, np.ndarray, np.generic))
        if is_array is not isinstance(other, (Leaf, np.ndarray, np.generic)):
            return f"{type(one).__name__} instead of {type(other).__name__}"
        if is_array and _form(one) != _form(other):
            return "{} {} instead of {} {}".format(*_form(one), *_form(other))
        return self.judge(path, one, other) if _equal(other, again) else None


def _member(again: Any, key: Any) -> Any:
    try:
        return again[key]
    except (KeyError, IndexError, TypeError):
        return None


def _form(array: Any) -> tuple[str, list[int]]:
    if isinstance(array, Leaf):
        return array.dtype, list(array.values.shape)
    return str(array.dtype), list(array.shape)


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are equal bit by bit, so that NaN equals NaN."""
    first, second = (value.values if isinstance(value, Leaf) else value for value in (one, other))
    if second is None:
        return False
    first, second = np.asarray(first), np.asarray(second)
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
