"""A recipe: values that go together, by the names of the parameters that take them; and where its values are drawn."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arguments = dict[str, Any]
"""Values by parameter. A key names each parameter that takes the value, with spaces between; ``*`` is the rest of the
positional arguments, whatever their name."""

ONE = (
    "x a input tensor input_tensor values value features image images m array v t z data inputs diagonal matrix arr"
    " operand val ary logits s tensor_in x_in elements condition"
)
"""Names that functions of one array have for it."""


class Draw:
    """Draws arrays in a dtype, or of whole numbers, always the same for the same seed."""

    def __init__(self, seed: str, dtype: str) -> None:
        self._rng = np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big"))
        self.dtype = dtype

    def array(self, *shape: int) -> Array:
        """Values of both signs, floating ones mostly within 4."""
        return self._in_dtype(self._rng.standard_normal(shape) * 1.5, self._rng.integers(-5, 9, shape))

    def unit(self, *shape: int) -> Array:
        """Values between 0 and 1; whole ones are either."""
        return self._in_dtype(self._rng.uniform(0.05, 0.95, shape), self._rng.integers(0, 2, shape))

    def positive(self, *shape: int) -> Array:
        """Values above 1 and up to 4."""
        return self._in_dtype(self._rng.uniform(1.1, 3.9, shape), self._rng.integers(1, 5, shape))

    def distinct(self, *shape: int) -> Array:
        """Values in random order of which no two are equal."""
        order = self._rng.permutation(int(np.prod(shape))).reshape(shape)
        return self._in_dtype(order / 2 - 2.0, order - 4)

    def increasing(self, *shape: int) -> Array:
        """Distinct values that rise along the last axis."""
        return np.asarray(np.sort(self.distinct(*shape), axis=-1))

    def ints(self, *shape: int, low: int = 0, high: int = 3, dtype: str = "int32") -> Array:
        return np.asarray(self._rng.integers(low, high, shape), dtype)

    def bools(self, *shape: int) -> Array:
        return np.asarray(self._rng.random(shape) < 0.5)

    def definite(self, *shape: int) -> Array:
        """Symmetric matrices, positive definite and well conditioned."""
        values = self.array(*shape)
        transposed = np.swapaxes(values, -1, -2)
        return (
            self._same(values @ transposed.conj() / 4 + 3 * np.eye(shape[-1])) if values.dtype.kind in "fc" else values
        )

    def triangular(self, *shape: int) -> Array:
        """Lower triangular matrices, well conditioned."""
        values = self.array(*shape)
        return self._same(np.tril(values) / 2 + 3 * np.eye(shape[-1])) if values.dtype.kind in "fc" else values

    def shares(self, *shape: int) -> Array:
        """Positive values that sum to one along the last axis."""
        values = self._rng.uniform(0.1, 1.0, shape)
        return self._in_dtype(values / values.sum(axis=-1, keepdims=True), np.ones(shape, int))

    def one_hot(self, *shape: int) -> Array:
        """One 1 along the last axis, and zeros."""
        rows = np.eye(shape[-1], dtype=np.int64)[self._rng.integers(0, shape[-1], shape[:-1])]
        return self._in_dtype(rows.astype(np.float64), rows)

    def values_of(self, values: Any) -> Array:
        """These values in the dtype."""
        array = np.asarray(values)
        return self._in_dtype(array.astype(np.float64), array.astype(np.int64))

    def _same(self, values: Array) -> Array:
        return np.asarray(values)

    def _in_dtype(self, real: Any, whole: Any) -> Array:
        floating: Array = np.asarray(real)
        if self.dtype.startswith("complex"):
            return np.asarray(floating + 1j * self._rng.standard_normal(floating.shape))
        if "float" in self.dtype:
            return floating
        if self.dtype == "bool":
            return np.asarray(np.asarray(whole) % 2 == 1)
        least = 0 if self.dtype.startswith("u") else -(2**7)
        return np.asarray(np.maximum(whole, least), self.dtype)


@dataclass(frozen=True)
class Recipe:
    """The arguments of a call, and options of which each makes a call more."""

    name: str
    make: Callable[[Draw], Arguments]
    options: tuple[Arguments, ...] = ()
    only: str | None = None
    """A pattern of the names of the functions that it is for, where its parameters alone do not say so."""

    def calls(self, function: str, names: Mapping[str, bool], draw: Callable[[], Draw]) -> Iterator[tuple[str, Any]]:
        """The arguments for a function of these parameters (and whether each must be given), with a name for each.

        Every array has to find a parameter; numbers and words are for the functions that have one for them.
        """
        if self.only is not None and re.search(self.only, function) is None:
            return
        values = self.make(draw())
        if not all(_finds(key, names) for key, value in values.items() if _holds_array(value)):
            return
        arguments = _take(values, names)
        if arguments and _suffice(arguments, names):
            yield self.name, arguments
        for number, option in enumerate(self.options):
            arguments_chosen = {**_take(self.make(draw()), names), **_take(option, names)}
            if all(_finds(key, names) for key in option) and _suffice(arguments_chosen, names):
                yield f"{self.name}-{number + 1}", arguments_chosen


def _take(arguments: Arguments, names: Mapping[str, bool]) -> Arguments:
    """The values by the parameters of a function; where it has several of one key, all have the same value."""
    return {name: value for key, value in arguments.items() for name in key.split() if name in names}


def _finds(key: str, names: Mapping[str, bool]) -> bool:
    return any(name in names for name in key.split())


def _suffice(arguments: Arguments, names: Mapping[str, bool]) -> bool:
    """Whether everything that must be given is."""
    return all(name in arguments for name, is_required in names.items() if is_required)


def _holds_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, (list, tuple)) and any(map(_holds_array, value)))


def recipe(name: str, make: Callable[[Draw], Arguments], *options: Arguments, only: str | None = None) -> Recipe:
    return Recipe(name, make, options, only)
