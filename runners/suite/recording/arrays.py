"""Describes the arrays of a call when it is recorded, and makes arrays from the description when it is replayed."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runners.suite.cases import Inputs
from runners.suite.frozen import BFLOAT16, restored, stored
from runners.suite.rounding import dtype_on_device

MOST_VALUES = 100_000
"""The maximum number of elements of an array whose values are stored, unless the user asks for all values."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RecordedArray:
    """One array with its values, or with the range for random values (``protocol.recording.ArrayEntry``)."""

    dtype: str
    shape: tuple[int, ...]
    low: float = 0.0
    high: float = 1.0
    values: str | None = None

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> RecordedArray:
        """Read an array's entry in a recording."""
        return cls(
            str(written["dtype"]),
            tuple(map(int, written["shape"])),
            float(written.get("low", 0.0)),
            float(written.get("high", 1.0)),
            written.get("values"),
        )

    @property
    def written(self) -> dict[str, Any]:
        written: dict[str, Any] = {"dtype": self.dtype, "shape": list(self.shape)}
        return (
            {**written, "low": self.low, "high": self.high}
            if self.values is None
            else {**written, "values": self.values}
        )

    @property
    def numpy_dtype(self) -> str:
        """The dtype of the array in NumPy: float32 for bfloat16, which NumPy does not have."""
        return "float32" if self.dtype == BFLOAT16 else self.dtype

    def made(self, inputs: Inputs) -> Array:
        """Make the array; bfloat16 becomes float32. Raises ``ValueError`` if the stored values do not fit the shape."""
        if self.values is not None:
            dtype = np.dtype(_stored_dtype(self.dtype))
            # Unpack only as many bytes as the shape needs, because a few bytes can unpack to more than the memory.
            unpacked = zlib.decompressobj().decompress(
                base64.b64decode(self.values), math.prod(self.shape) * dtype.itemsize + 1
            )
            return restored(np.frombuffer(unpacked, dtype).reshape(self.shape), self.dtype)
        if self.dtype == "bool" or "int" in self.dtype:
            low, high = int(self.low), int(self.high)
            return np.asarray(inputs.rng.integers(low, high, self.shape, endpoint=True)).astype(self.dtype)
        drawn = np.asarray(inputs.uniform(*self.shape, low=self.low, high=self.high))
        if self.dtype.startswith("complex"):
            return drawn + 1j * np.asarray(inputs.uniform(*self.shape, low=self.low, high=self.high))
        return drawn


def describe(values: Array, dtype: str, *, with_values: bool) -> RecordedArray:
    """Describe an array: by its values if it has integers, booleans, NaN or infinity, otherwise by its range.

    An array of more than ``MOST_VALUES`` elements is described by its range. ``with_values`` keeps the values of every
    array.
    """
    is_whole = values.dtype.kind in "biu"
    keeps = with_values or (values.size <= MOST_VALUES and (is_whole or not np.isfinite(values).all()))
    if keeps:
        return RecordedArray(dtype, values.shape, values=_pack(stored(values, dtype)))
    low, high = _range(values)
    return RecordedArray(dtype, values.shape, low, high)


def slot_dtype(own: str, dtype: str) -> str | None:
    """Return the dtype for an array's slot in a call of ``dtype``, or None if the array has this dtype by default."""
    moved = dtype_on_device(np.empty(0, RecordedArray(own, ()).numpy_dtype), dtype)
    return None if own == moved else own


def weight(shape: Sequence[int], dtype: str) -> RecordedArray:
    """Describe random weights for a result. The gradient is taken of the sum of all results times their weights."""
    return RecordedArray(dtype, tuple(shape), -1.0, 1.0)


def _pack(stored_values: Array) -> str:
    return base64.b64encode(zlib.compress(stored_values.tobytes())).decode()


def _stored_dtype(dtype: str) -> str:
    return "uint16" if dtype == BFLOAT16 else dtype


def _range(values: Array) -> tuple[float, float]:
    """Return the smallest and the largest finite value."""
    parts = np.concatenate([values.real.ravel(), values.imag.ravel()]) if values.dtype.kind == "c" else values
    finite = parts[np.isfinite(parts)] if parts.dtype.kind == "f" else parts
    if not finite.size:
        return 0.0, 0.0
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if math.isfinite(high - low) else (-1.0, 1.0)
