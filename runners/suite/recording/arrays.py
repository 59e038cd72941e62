"""Arrays of a recorded call: described when it is recorded, made anew when it is replayed."""

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
"""Elements of an array whose values are kept, unless all values are asked for."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RecordedArray:
    """One array: its values, or the range from which they are drawn. ``protocol.recording.ArrayEntry``."""

    dtype: str
    shape: tuple[int, ...]
    low: float = 0.0
    high: float = 1.0
    values: str | None = None

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> RecordedArray:
        """The array as it stands in a recording."""
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
        """NumPy has no bfloat16."""
        return "float32" if self.dtype == BFLOAT16 else self.dtype

    def made(self, inputs: Inputs) -> Array:
        """The array, of bfloat16 as float32. Raises ``ValueError`` for values that are not those of the shape."""
        if self.values is not None:
            dtype = np.dtype(_stored_dtype(self.dtype))
            # No more than the shape has: a few bytes may unpack to more than any memory holds.
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
    """The description of an array: whole numbers, truths and what is not finite by their values, floats by their range.

    ``with_values`` keeps those of floats too. Of more than ``MOST_VALUES`` elements there is only the range, unless
    all values are asked for.
    """
    is_whole = values.dtype.kind in "biu"
    keeps = with_values or (values.size <= MOST_VALUES and (is_whole or not np.isfinite(values).all()))
    if keeps:
        return RecordedArray(dtype, values.shape, values=_pack(stored(values, dtype)))
    low, high = _range(values)
    return RecordedArray(dtype, values.shape, low, high)


def slot_dtype(own: str, dtype: str) -> str | None:
    """The dtype of an array's slot in a call of that dtype; None where the array has it by itself."""
    moved = dtype_on_device(np.empty(0, RecordedArray(own, ()).numpy_dtype), dtype)
    return None if own == moved else own


def weight(shape: Sequence[int], dtype: str) -> RecordedArray:
    """The weight of a result in the sum that is differentiated."""
    return RecordedArray(dtype, tuple(shape), -1.0, 1.0)


def _pack(stored_values: Array) -> str:
    return base64.b64encode(zlib.compress(stored_values.tobytes())).decode()


def _stored_dtype(dtype: str) -> str:
    return "uint16" if dtype == BFLOAT16 else dtype


def _range(values: Array) -> tuple[float, float]:
    """The least and the greatest finite value."""
    parts = np.concatenate([values.real.ravel(), values.imag.ravel()]) if values.dtype.kind == "c" else values
    finite = parts[np.isfinite(parts)] if parts.dtype.kind == "f" else parts
    if not finite.size:
        return 0.0, 0.0
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if math.isfinite(high - low) else (-1.0, 1.0)
