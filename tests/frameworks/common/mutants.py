"""Slightly wrong functions (mutants), which every value case must detect.

A mutant wraps the function under test and changes its result: one element is slightly wrong, the dtype is another, or
the input is returned unchanged. Other mutants overwrite an input, or are right only once. ``swapped`` wraps plain
functions. Classes whose instances do the work have wrappers in the framework's ``wrappers.py``. ``Wrong`` is a device
that looks up the wrong function, and on ``WrongLater`` the function is right at first. ``Arrays`` changes a framework's
arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, Protocol

from runners.suite.device import Device, Proof

Alter = Callable[["Mutant", Any, tuple[Any, ...], Mapping[str, Any]], Any]
"""A function that makes a wrong result from the right result and the call's arguments, and records in the mutant when
it has changed something."""
Wrapper = Callable[[Any], Callable[[Any, "Mutant"], Any] | None]
"""A function that chooses how an object is made wrong; None for a plain function."""
UNCHANGED = object()
FUNCTIONS = (FunctionType, functools.partial)

STEP: Mapping[str, float] = {"bfloat16": 0.02}
"""1 % for all dtypes except bfloat16. The neighbors of a bfloat16 number are up to 0.8 % apart, so one rounding more is
no error there."""


class Arrays(Protocol):
    """The operations of mutants on one framework's arrays. The arrays may be traced and have no values yet."""

    functions: tuple[type, ...]
    """The framework's own types of functions that a function may return."""

    def is_array(self, value: Any) -> bool: ...

    def off(self, array: Any) -> Any:
        """A slightly wrong array: Booleans are flipped, integers are one larger, and in other arrays the largest finite
        element is wrong by ``STEP``."""

    def retype(self, array: Any) -> Any:
        """The array in another dtype."""

    def differ(self, argument: Any, result: Any) -> bool:
        """Whether ``given`` has the shape and dtype of ``result`` but other values."""

    def make_unfilled(self, array: Any) -> Any:
        """The content of an ``out=`` array that was never filled."""

    def load_dice(self, array: Any) -> Any:
        """Random numbers of which every tenth is replaced by the smallest."""

    def clobber(self, array: Any) -> bool:
        """Write another first value into the array itself. Returns False if this is not possible."""

    def zero(self, array: Any) -> Any:
        """Zeros in place of the value; ``UNCHANGED`` if the value has no other numbers."""

    def map_container(self, value: Any, change: Callable[[Any], Any]) -> Any:
        """A container of the framework with every array in it changed; ``UNCHANGED`` if the value is no such
        container."""


@dataclass
class Mutant:
    """One way of being wrong. It records whether it has changed anything in the calls so far."""

    name: str
    alter: Alter
    applied: bool = False
    places: int = 0
    """The number of values that it has counted in a result."""
    awake: bool = True
    """Whether it changes anything already."""

    def __call__(self, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        return self.alter(self, result, arguments, options) if self.awake else self._waiting(result)

    def _waiting(self, result: Any) -> Any:
        """Wrap a returned function, which becomes wrong when the mutant becomes active."""
        return swap_returned(result, self) if isinstance(result, FUNCTIONS) else result

    def instead(self, wrong: Any, right: Any) -> Any:
        """Return ``altered``, unless that is ``UNCHANGED``."""
        if wrong is UNCHANGED:
            return right
        self.applied = True
        return wrong


def off_in(arrays: Arrays, position: int) -> Mutant:
    """The array or number at ``position`` of the result has one slightly wrong value."""
    return _at(f"value {position} off", arrays, position, lambda value: _off(arrays, value))


def of_another_dtype(arrays: Arrays, position: int) -> Mutant:
    def retype(value: Any) -> Any:
        return arrays.retype(value) if arrays.is_array(value) else UNCHANGED

    return _at(f"value {position} of another dtype", arrays, position, retype)


def input_returned(arrays: Arrays) -> Mutant:
    """The result is the unchanged input. If the result is a function, this function returns its input."""

    def alter(mutant: Mutant, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        if isinstance(result, (*FUNCTIONS, *arrays.functions)):
            return swap_returned(result, mutant)
        return mutant.instead(_first_argument(arrays, result, arguments, options), result)

    return Mutant("input untouched", alter)


def load_dice(arrays: Arrays) -> Mutant:
    def alter(mutant: Mutant, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        return mutant.instead(arrays.load_dice(result) if arrays.is_array(result) else UNCHANGED, result)

    return Mutant("loaded", alter)


def clobber_input(arrays: Arrays) -> Mutant:
    """The result is right, but the first value of the first array argument is overwritten."""

    def alter(mutant: Mutant, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        if isinstance(result, (*FUNCTIONS, *arrays.functions)):
            return swap_returned(result, mutant)
        mutant.applied |= any(map(clobber, _members([*arguments, *options.values()])))
        return result

    def clobber(array: Any) -> bool:
        # Once each: the other value of the other value may be the right one again.
        if id(array) not in by_id and arrays.clobber(array):
            by_id[id(array)] = array
        return id(array) in by_id

    by_id: dict[int, Any] = {}
    return Mutant("input clobbered", alter)


def zeros(arrays: Arrays) -> Mutant:
    """All arrays and numbers in the result are zero. With ``WrongLater``, the first result is right, and later ones are
    zero."""

    def zero(value: Any) -> Any:
        if isinstance(value, (bool, int, float, complex)):
            return type(value)(0) if value else UNCHANGED
        return arrays.zero(value) if arrays.is_array(value) else UNCHANGED

    return _at("zeros", arrays, None, zero)


class Wrong:
    """A device on which every function is wrong in the same way."""

    def __init__(self, device: Device, mutant: Mutant, wrapper_of: Wrapper) -> None:
        self._device = device
        self._mutant = mutant
        self._wrapper_of = wrapper_of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def lookup(self, name: str) -> Any:
        function = self._device.lookup(name)
        return (self._wrapper_of(function) or swap)(function, self._mutant)


class WrongLater(Wrong):
    """A device on which every function is right until the first call of a case has been made, checked and traced."""

    def __init__(self, device: Device, mutant: Mutant, wrapper_of: Wrapper) -> None:
        super().__init__(device, mutant, wrapper_of)
        mutant.awake = False

    @contextmanager
    def tracing(self, proof: Proof) -> Iterator[None]:
        with self._device.tracing(proof):
            yield
        self._mutant.awake = True


def swap(function: Callable[..., Any], mutant: Mutant) -> Callable[..., Any]:
    """Make a plain function wrong: its result is altered."""

    def alter_result(*arguments: Any, **options: Any) -> Any:
        return mutant(function(*arguments, **options), arguments, options)

    return alter_result


def swap_returned(function: Any, change: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function wrong that another function returned (a derivative, a compiled function): its result is
    altered."""

    class Altered:
        def __call__(self, *arguments: Any, **options: Any) -> Any:
            return change(function(*arguments, **options), arguments, options)

        def __getattr__(self, name: str) -> Any:
            return getattr(function, name)

    return Altered()


def _first_argument(arrays: Arrays, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """The first array argument if it has the result's shape and dtype, otherwise the unchanged result.

    With ``out=``, the array that should have been filled stays zero. For a list of what was changed in place
    (``wrappers.py``), the list from before the call.
    """
    if isinstance(result, list) and arguments and isinstance(arguments[0], list):
        return arguments[0] if _differ(arrays, arguments[0], result) else UNCHANGED
    if not arrays.is_array(result):
        return UNCHANGED
    if options.get("out") is not None:
        return arrays.make_unfilled(result)
    for argument in arguments:
        if arrays.is_array(argument):
            return argument if arrays.differ(argument, result) else UNCHANGED
    return UNCHANGED


def _members(tree: Any) -> Iterator[Any]:
    """Everything in lists, tuples and dicts."""
    for member in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(member, (list, tuple, dict)):
            yield from _members(member)
        else:
            yield member


def _at(name: str, arrays: Arrays, position: int | None, change: Callable[[Any], Any]) -> Mutant:
    """The result with the value at ``position`` changed. Values are counted through containers and into returned
    functions; None changes all."""

    def alter(mutant: Mutant, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        return _Walk(mutant, arrays, position, change)(result)

    return Mutant(name, alter)


@dataclass
class _Walk:
    """One traversal of a result. ``place`` counts its values."""

    mutant: Mutant
    arrays: Arrays
    position: int | None
    change: Callable[[Any], Any]
    place: int = -1

    def __call__(self, tree: Any) -> Any:
        if isinstance(tree, (list, tuple)):
            members = [self(member) for member in tree]
            return type(tree)(*members) if hasattr(tree, "_fields") else type(tree)(members)
        if isinstance(tree, dict):
            return {key: self(member) for key, member in tree.items()}
        if isinstance(tree, (*FUNCTIONS, *self.arrays.functions)):
            return swap_returned(tree, replace(self).result)
        container = self.arrays.map_container(tree, self)
        if container is not UNCHANGED:
            return container
        self.place += 1
        self.mutant.places = max(self.mutant.places, self.place + 1)
        return self.mutant.instead(self.change(tree) if self.position in (None, self.place) else UNCHANGED, tree)

    def result(self, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        """The result of a returned function. At each call its values are counted from the number of values before the
        function."""
        return replace(self)(result)


def _off(arrays: Arrays, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, (float, complex)):
        return value * 1.01 if value else 0.01
    if isinstance(value, str):
        return f"{value}'"
    return arrays.off(value) if arrays.is_array(value) else UNCHANGED


def _differ(arrays: Arrays, before: list[Any], after: list[Any]) -> bool:
    if len(before) != len(after):
        return True
    for one, other in zip(before, after, strict=True):
        if arrays.is_array(one) and arrays.is_array(other):
            if one.shape != other.shape or arrays.differ(one, other):
                return True
        elif one is not other and one != other:
            return True
    return False
