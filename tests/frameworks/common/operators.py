"""Further ways of being slightly wrong, in addition to those of ``mutants.py``, for the mutation score.

``Dialect`` has the functions on a framework's arrays that they need. It is in ``dialect.py`` of the framework's folder.
A mutant counts only if it had an effect: an ignored keyword must have changed the result, and a detached result must
have had a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from runners.suite.device import Device
from tests.frameworks.common.mutants import STEP, UNCHANGED, Arrays, Mutant, Wrapper, _at, _Walk


class Dialect(Protocol):
    """The functions on one framework's arrays that the operators need."""

    def values(self, array: Any) -> np.ndarray | None:
        """The values as NumPy arrays; None if an array has no values yet, or no numbers."""

    def like(self, array: Any, values: np.ndarray) -> Any:
        """These values in the form of ``array``. A gradient through them is kept."""

    def gradient_off(self, array: Any, note: Callable[[], None]) -> Any:
        """The same values, with a gradient that is ``STEP`` (usually 1 %) too large. ``note`` is called when a gradient
        is taken."""

    def detach(self, array: Any) -> Any:
        """The same values without a gradient; ``UNCHANGED`` if they had none."""

    def copy(self, array: Any) -> Any:
        """A copy that shares no memory."""

    def clobber(self, array: Any) -> bool:
        """Change an argument in place, if the framework's arrays can be changed."""


def operators(arrays: Arrays, dialect: Dialect) -> Iterator[Mutant]:
    """The operators that change a result, or the arguments of its call."""
    yield _change_mutant("last element off", arrays, dialect, _last_off)
    yield _change_mutant("negatives lost", arrays, dialect, lambda values, step: _positive(values))
    yield _change_mutant("wrong stride", arrays, dialect, lambda values, step: _reorder(values))
    yield _gradient_off(arrays, dialect)
    yield _at("detached", arrays, 0, lambda value: dialect.detach(value) if arrays.is_array(value) else UNCHANGED)
    yield _clobber_input(arrays, dialect)


def gradients_off(arrays: Arrays, dialect: Dialect) -> Mutant:
    """All values are right, and the gradient with respect to each is ``STEP`` too large. Applies only if a gradient is
    taken."""

    def alter(mutant: Mutant, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        def note() -> None:
            mutant.applied = True

        def change(value: Any) -> Any:
            return dialect.gradient_off(value, note) if arrays.is_array(value) else UNCHANGED

        # The walk marks a mutant of its own, because a changed value alone does not apply this one.
        return _Walk(Mutant(mutant.name, alter), arrays, None, change)(result)

    return Mutant("gradients off", alter)


def right_once(arrays: Arrays, dialect: Dialect) -> Mutant:
    """The first call is right, and every later call returns zeros."""
    calls = 0

    def alter(mutant: Mutant, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        nonlocal calls
        calls += 1
        values = dialect.values(result) if arrays.is_array(result) else None
        if calls == 1 or values is None or not values.any():
            return result
        mutant.applied = True
        return dialect.like(result, np.zeros_like(values))

    return Mutant("right once", alter)


class Ignoring:
    """A device whose functions ignore one keyword. Without a name, it only records which keywords are used."""

    def __init__(self, device: Device, arrays: Arrays, dialect: Dialect, wrapper_of: Wrapper, name: str = "") -> None:
        self._device = device
        self._arrays = arrays
        self._dialect = dialect
        self._wrapper_of = wrapper_of
        self._name = name
        self.used: set[str] = set()
        self.applied = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def lookup(self, name: str) -> Any:
        function = self._device.lookup(name)
        if isinstance(function, type) or self._wrapper_of(function) is not None:
            return function

        def call(*arguments: Any, **options: Any) -> Any:
            self.used.update(options)
            if self._name not in options:
                return function(*arguments, **options)
            without = {key: self._copy(value) for key, value in options.items() if key != self._name}
            try:
                result = function(*self._copy(list(arguments)), **without)
            except Exception:
                # A keyword that the function cannot do without is ignored by nobody.
                return function(*arguments, **options)
            right = function(*arguments, **options)
            if self._same(result, right):
                return right
            self.applied = True
            return result

        return call

    def _copy(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self._copy(member) for member in tree]
        return self._dialect.copy(tree) if self._arrays.is_array(tree) else tree

    def _same(self, one: Any, other: Any) -> bool:
        """Whether two results are equal. Results that cannot be compared count as equal, so that no doubtful mutant is
        counted."""
        if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
            return len(one) == len(other) and all(self._same(a, b) for a, b in zip(one, other, strict=True))
        if isinstance(one, dict) and isinstance(other, dict):
            return one.keys() == other.keys() and all(self._same(value, other[key]) for key, value in one.items())
        if not (self._arrays.is_array(one) and self._arrays.is_array(other)):
            plain = (bool, int, float, complex, str)
            return not (isinstance(one, plain) and isinstance(other, plain)) or one == other or one != one
        if one.dtype != other.dtype:
            return False
        values, others = self._dialect.values(one), self._dialect.values(other)
        return values is None or others is None or np.array_equal(values, others, equal_nan=values.dtype.kind in "fc")


Change = Callable[[np.ndarray, float], "np.ndarray | None"]
"""A function that makes wrong values from right ones, with an error larger than any rounding; None if they would be
equal."""


def _change_mutant(name: str, arrays: Arrays, dialect: Dialect, change: Change) -> Mutant:
    def alter(value: Any) -> Any:
        values = dialect.values(value) if arrays.is_array(value) else None
        if values is None or not values.size or values.dtype.kind not in "biufc":
            return UNCHANGED
        wrong = change(values.copy(), STEP.get(str(value.dtype).rpartition(".")[2], 0.01))
        return UNCHANGED if wrong is None else dialect.like(value, wrong)

    return _at(name, arrays, 0, alter)


def _last_off(values: np.ndarray, step: float) -> np.ndarray | None:
    last = values.reshape(-1)[-1:]
    if values.dtype.kind == "b":
        larger = ~last
    elif values.dtype.kind in "iu":
        larger = last + 1
    else:
        # A step of the last element alone can drown in a tolerance that goes by the largest.
        size = np.abs(values[np.isfinite(values)]).max(initial=0)
        if not np.isfinite(last[0]):
            return None
        larger = last + max(step * size, step)
    flat = values.reshape(-1)
    flat[-1] = larger[0]
    return flat.reshape(values.shape)


def _positive(values: np.ndarray) -> np.ndarray | None:
    if values.dtype.kind not in "if" or not (values < 0).any():
        return None
    return np.abs(values)


def _reorder(values: np.ndarray) -> np.ndarray | None:
    """Read by columns what was written by rows."""
    if values.ndim < 2:
        return None
    wrong = values.reshape(-1, order="F").reshape(values.shape)
    return None if np.array_equal(wrong, values, equal_nan=values.dtype.kind in "fc") else wrong


def _gradient_off(arrays: Arrays, dialect: Dialect) -> Mutant:
    def alter(mutant: Mutant, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        def note() -> None:
            mutant.applied = True

        return dialect.gradient_off(result, note) if arrays.is_array(result) else result

    return Mutant("gradient off", alter)


def _clobber_input(arrays: Arrays, dialect: Dialect) -> Mutant:
    def alter(mutant: Mutant, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        # What the function itself works on in place, or gives back, is meant to change.
        arrays_of_call = [value for value in arguments if arrays.is_array(value) and value is not result]
        if arrays.is_array(result) and arrays_of_call and options.get("out") is None:
            mutant.applied = dialect.clobber(arrays_of_call[0]) or mutant.applied
        return result

    return Mutant("clobbered input", alter)
