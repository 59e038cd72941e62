"""Recipes: sets of arguments that fit each other, by the names of parameters; and the source of their values."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arguments = dict[str, Any]
"""Values by parameter. A key consists of alternative names of the parameter, separated by spaces. The key ``*`` is for
variable positional arguments."""

ONE = (
    "x a input tensor input_tensor values value features image images m array v t z data inputs diagonal matrix arr"
    " operand val ary logits s tensor_in x_in elements condition"
)
"""The names under which functions of one array take that array."""


class Draw:
    """Draws arrays in a dtype, or of integers. The same seed gives the same arrays."""

    def __init__(self, seed: str, dtype: str) -> None:
        self._rng = np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big"))
        self.dtype = dtype

    def array(self, *shape: int) -> Array:
        """Return values of both signs. Most floats are between -4 and 4."""
        return self._in_dtype(self._rng.standard_normal(shape) * 1.5, self._rng.integers(-5, 9, shape))

    def unit(self, *shape: int) -> Array:
        """Return floats between 0 and 1, or integers that are 0 or 1."""
        return self._in_dtype(self._rng.uniform(0.05, 0.95, shape), self._rng.integers(0, 2, shape))

    def positive(self, *shape: int) -> Array:
        """Return values between 1 and 4."""
        return self._in_dtype(self._rng.uniform(1.1, 3.9, shape), self._rng.integers(1, 5, shape))

    def distinct(self, *shape: int) -> Array:
        """Return distinct values in random order."""
        order = self._rng.permutation(int(np.prod(shape))).reshape(shape)
        return self._in_dtype(order / 2 - 2.0, order - 4)

    def increasing(self, *shape: int) -> Array:
        """Return distinct values that increase along the last axis."""
        return np.asarray(np.sort(self.distinct(*shape), axis=-1))

    def ints(self, *shape: int, low: int = 0, high: int = 3, dtype: str = "int32") -> Array:
        return np.asarray(self._rng.integers(low, high, shape), dtype)

    def bools(self, *shape: int) -> Array:
        return np.asarray(self._rng.random(shape) < 0.5)

    def definite(self, *shape: int) -> Array:
        """Return symmetric matrices, positive definite and well conditioned."""
        values = self.array(*shape)
        transposed = np.swapaxes(values, -1, -2)
        return (
            self._same(values @ transposed.conj() / 4 + 3 * np.eye(shape[-1])) if values.dtype.kind in "fc" else values
        )

    def triangular(self, *shape: int) -> Array:
        """Return lower triangular matrices, well conditioned."""
        values = self.array(*shape)
        return self._same(np.tril(values) / 2 + 3 * np.eye(shape[-1])) if values.dtype.kind in "fc" else values

    def shares(self, *shape: int) -> Array:
        """Return positive values whose sum along the last axis is 1."""
        values = self._rng.uniform(0.1, 1.0, shape)
        return self._in_dtype(values / values.sum(axis=-1, keepdims=True), np.ones(shape, int))

    def one_hot(self, *shape: int) -> Array:
        """Return zeros, with a single 1 along the last axis."""
        rows = np.eye(shape[-1], dtype=np.int64)[self._rng.integers(0, shape[-1], shape[:-1])]
        return self._in_dtype(rows.astype(np.float64), rows)

    def values_of(self, values: Any) -> Array:
        """Convert these values to the dtype."""
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
    """The arguments of a call. Each option adds one call with that option."""

    name: str
    make: Callable[[Draw], Arguments]
    options: tuple[Arguments, ...] = ()
    only: str | None = None
    """A pattern. If it is set, the recipe is only for functions whose names match it."""

    def calls(self, function: str, names: Mapping[str, bool], draw: Callable[[], Draw]) -> Iterator[tuple[str, Any]]:
        """Yield the arguments of each call of a function, with a name for the call.

        ``names`` has the function's parameters, and whether each is required. The recipe fits only if there is a
        parameter for each of its arrays. Numbers and strings without a parameter are omitted.
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
    """Return the values by the parameters of a function. If it has several names of one key, all get the value."""
    return {name: value for key, value in arguments.items() for name in key.split() if name in names}


def _finds(key: str, names: Mapping[str, bool]) -> bool:
    return any(name in names for name in key.split())


def _suffice(arguments: Arguments, names: Mapping[str, bool]) -> bool:
    """Whether there is a value for each required parameter."""
    return all(name in arguments for name, is_required in names.items() if is_required)


def _holds_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, (list, tuple)) and any(map(_holds_array, value)))


def recipe(name: str, make: Callable[[Draw], Arguments], *options: Arguments, only: str | None = None) -> Recipe:
    return Recipe(name, make, options, only)
