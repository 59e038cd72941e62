"""Rounds host values to a case's dtype with NumPy alone, which has no bfloat16.

After the rounding, the device and the reference compute with exactly the same values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_REAL_OF = {"complex64": "float32", "complex128": "float64"}


def rounded(tree: Any, dtype: str) -> Any:
    """Copy the tree and round its arrays to ``dtype``: floating ones as float64, complex ones as complex128."""
    if isinstance(tree, (np.ndarray, np.generic)):
        return _rounded_array(np.asarray(tree), dtype)
    if isinstance(tree, Mapping):
        return {key: rounded(value, dtype) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        members = [rounded(member, dtype) for member in tree]
        return members if isinstance(tree, list) else tuple(members)
    return tree


def to_bfloat16(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Round to the nearest bfloat16, ties to even. Returns float32 values."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.ascontiguousarray(values, dtype=np.float32).reshape(np.shape(values))
    bits = single.view(np.uint32)
    # Add half of the last kept bit, minus one, plus that bit: this rounds to nearest, with ties to even.
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(single), np.float32(np.nan), nearest.view(np.float32))


def _rounded_array(array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    if array.dtype.kind == "f":
        real = _REAL_OF.get(dtype, dtype if "float" in dtype else "float32")
        with np.errstate(over="ignore"):
            narrow = to_bfloat16(array) if real == "bfloat16" else array.astype(real)
        return narrow.astype(np.float64)
    if array.dtype.kind == "c":
        narrow = array.astype(np.complex128 if dtype in ("complex128", "float64") else np.complex64)
        return narrow.astype(np.complex128)
    return array.copy()


def dtype_on_device(array: np.ndarray[Any, Any], dtype: str) -> str:
    """Return the dtype of an array on the device: a floating or complex array takes the case's, any other its own."""
    if array.dtype.kind == "f":
        return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype if "float" in dtype else "float32")
    if array.dtype.kind == "c":
        return "complex128" if dtype in ("complex128", "float64") else "complex64"
    return str(array.dtype)
