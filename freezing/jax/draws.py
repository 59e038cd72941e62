"""Draws: the arrays of a recipe's calls, made from a seed in the dtype that is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.suite.cases import seed_of
from runners.suite.frozen import Named

Array = np.ndarray[Any, Any]
EDGES = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5)


class Draw:
    """A source of arrays for the calls of one function in one dtype. Floats are rounded to it when they are kept."""

    def __init__(self, function: str, dtype: str) -> None:
        self.dtype = dtype
        self._rng = np.random.default_rng(seed_of(f"{function}/{dtype}"))

    @property
    def named(self) -> Named:
        """The dtype itself, as an argument."""
        return Named("dtype", self.dtype)

    @property
    def is_floating(self) -> bool:
        return "float" in self.dtype

    def within(self, low: float, high: float, *shape: int) -> Array:
        """Values between two bounds; of whole numbers those that lie there, of complex ones both parts."""
        if self.dtype == "bool":
            return self.booleans(*shape)
        if "int" in self.dtype:
            first = max(int(np.ceil(low)), 0) if self.dtype.startswith("uint") else int(np.ceil(low))
            return np.asarray(self._rng.integers(first, max(int(high), first) + 1, shape)).astype(self.dtype)
        values = np.asarray(self._rng.uniform(low, high, shape))
        if "complex" in self.dtype:
            return np.asarray(values + 1j * self._rng.uniform(low, high, shape))
        return values

    def array(self, *shape: int) -> Array:
        return self.within(-3, 3, *shape)

    def positive(self, *shape: int) -> Array:
        return self.within(0.3, 4, *shape)

    def unit(self, *shape: int) -> Array:
        return self.within(0.05, 0.95, *shape)

    def edges(self) -> Array:
        """Zeros, ones, infinities and NaN; in a dtype that has none, other values."""
        return np.array(EDGES) if self.is_floating else self.array(8)

    def distinct(self, *shape: int) -> Array:
        """Values in random order that stay apart in every dtype."""
        count = int(np.prod(shape, dtype=np.int64))
        values = self._rng.permutation(count).reshape(shape)
        return values.astype(self.dtype) if "int" in self.dtype else values.astype(np.float64) / 2 + 0 * self.array()

    def with_repeats(self, *shape: int) -> Array:
        """Few values, so that some are equal."""
        return np.round(self.within(0, 3, *shape))

    def matrix(self, *shape: int) -> Array:
        """Square matrices that are far from singular."""
        return self.within(-1, 1, *shape) + 3 * np.eye(shape[-1])

    def symmetric(self, *shape: int) -> Array:
        """Matrices that are their own (conjugate) transpose, and positive definite."""
        half = self.within(-1, 1, *shape)
        return np.asarray((half + np.conj(np.swapaxes(half, -1, -2))) / 2 + 3 * np.eye(shape[-1]))

    def integers(self, *shape: int, low: int = 0, high: int = 3) -> Array:
        """Places and counts: int32, whatever the dtype. ``high`` is among them."""
        return np.asarray(self._rng.integers(low, high + 1, shape)).astype(np.int32)

    def booleans(self, *shape: int) -> Array:
        return np.asarray(self._rng.random(shape) < 0.5)

    def key(self) -> Array:
        """A key for random numbers, by its two words."""
        return np.array([0, self._rng.integers(1, 1000)], np.uint32)
