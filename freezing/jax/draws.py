"""Draw the arrays of a recipe's calls, from a seed and in a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.suite.cases import seed_of
from runners.suite.frozen import Named

Array = np.ndarray[Any, Any]
EDGES = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5)


class Draw:
    """Draws arrays for the calls of one function in one dtype. Floats are rounded to the dtype when they are stored."""

    def __init__(self, function: str, dtype: str) -> None:
        self.dtype = dtype
        self._rng = np.random.default_rng(seed_of(f"{function}/{dtype}"))

    @property
    def named(self) -> Named:
        """The dtype as an argument of a call."""
        return Named("dtype", self.dtype)

    @property
    def is_floating(self) -> bool:
        return "float" in self.dtype

    def within(self, low: float, high: float, *shape: int) -> Array:
        """Return values between two bounds. Both parts of a complex number are within the bounds."""
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
        """Return zeros, ones, infinities and NaN. In a dtype without them, return other values."""
        return np.array(EDGES) if self.is_floating else self.array(8)

    def distinct(self, *shape: int) -> Array:
        """Return values in random order that are distinct in every dtype."""
        count = int(np.prod(shape, dtype=np.int64))
        values = self._rng.permutation(count).reshape(shape)
        return values.astype(self.dtype) if "int" in self.dtype else values.astype(np.float64) / 2 + 0 * self.array()

    def with_repeats(self, *shape: int) -> Array:
        """Return rounded values, so that some are equal."""
        return np.round(self.within(0, 3, *shape))

    def matrix(self, *shape: int) -> Array:
        """Return square matrices that are far from singular."""
        return self.within(-1, 1, *shape) + 3 * np.eye(shape[-1])

    def symmetric(self, *shape: int) -> Array:
        """Return symmetric or Hermitian matrices that are positive definite."""
        half = self.within(-1, 1, *shape)
        return np.asarray((half + np.conj(np.swapaxes(half, -1, -2))) / 2 + 3 * np.eye(shape[-1]))

    def integers(self, *shape: int, low: int = 0, high: int = 3) -> Array:
        """Return indices or counts from ``low`` up to and including ``high``, in int32 for every dtype."""
        return np.asarray(self._rng.integers(low, high + 1, shape)).astype(np.int32)

    def booleans(self, *shape: int) -> Array:
        return np.asarray(self._rng.random(shape) < 0.5)

    def key(self) -> Array:
        """Return a random key as its two 32-bit words."""
        return np.array([0, self._rng.integers(1, 1000)], np.uint32)
