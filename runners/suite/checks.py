"""Compares the host copy of a result with the expected result.

Shapes, dtypes, structure and all values must agree. A tolerance depends on the case and its dtype, and is the same on
every device. Imports no framework.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runners.suite.precision import NARROWER, is_accumulated, is_rounded, terms
from runners.suite.sequences import aligned


@dataclass(frozen=True)
class Tolerance:
    """``|observed - expected| <= absolute + relative * |expected|``; NaN equals NaN."""

    relative: float
    absolute: float


EXACT = Tolerance(0.0, 0.0)
TOLERANCES: Mapping[str, Tolerance] = {
    "float64": Tolerance(1e-7, 1e-7),
    "float32": Tolerance(1e-5, 1e-5),
    "float16": Tolerance(2e-3, 1e-3),
    "bfloat16": Tolerance(8e-3, 4e-3),
    "complex128": Tolerance(1e-7, 1e-7),
    "complex64": Tolerance(1e-5, 1e-5),
    **dict.fromkeys(("bool", "uint8", "int8", "int16", "int32", "int64"), EXACT),
}


@dataclass(frozen=True)
class Leaf:
    """The host copy of one array: its values (bfloat16 widened), its own dtype, its device."""

    values: np.ndarray[Any, Any]
    dtype: str
    device: str


@dataclass(frozen=True)
class Expected:
    """An expected array whose dtype is not the case's own (``Expected(values, 'int64')``)."""

    values: Any
    dtype: str


class Mismatch(AssertionError):
    """The result is wrong. ``right_at`` names the float type whose rounding explains the difference."""

    def __init__(self, message: str, right_at: str | None = None) -> None:
        super().__init__(message)
        self.right_at = right_at


class Accepted(Mismatch):
    """The call returned, but the case expects an error."""


def compare(observed: Any, expected: Any, dtype: str, tolerance: Tolerance, inputs: Sequence[Any] = ()) -> None:
    """Raise ``Mismatch`` unless the tree ``observed`` equals the tree ``expected``.

    Arrays in ``observed`` are ``Leaf`` objects. A floating array must be of ``dtype``, any other of the NumPy dtype of
    the expected array. To expect another dtype, wrap the array in ``Expected``. The shapes of ``inputs`` tell how many
    terms a value may be the sum of.
    """
    differences: list[_Difference] = []
    _walk(observed, expected, dtype, tolerance, "result", differences)
    if not differences:
        return
    right_at = _right_at([difference.values for difference in differences], dtype, inputs)
    raise Mismatch("; ".join(difference.text for difference in differences[:4]), right_at)


def _right_at(pairs: Sequence[tuple[Any, Any] | None], dtype: str, inputs: Sequence[Any]) -> str | None:
    """Return the float type whose rounding explains every difference (the next narrower or the case's own), or None."""
    values = [pair for pair in pairs if pair is not None]
    if len(values) < len(pairs):
        return None
    narrower = NARROWER.get(dtype)
    if narrower and all(
        is_rounded(observed, narrower) and _close(observed, wanted, TOLERANCES[narrower]).all()
        for observed, wanted in values
    ):
        return narrower
    if all(is_accumulated(observed, wanted, dtype, terms(inputs, wanted)) for observed, wanted in values):
        return dtype
    return None


@dataclass(frozen=True)
class _Difference:
    text: str
    values: tuple[Any, Any] | None = None
    """The observed and the expected values, if only floating values differ."""


def _walk(observed: Any, expected: Any, dtype: str, tolerance: Tolerance, path: str, found: list[_Difference]) -> None:
    if isinstance(expected, Mapping):
        if not isinstance(observed, Mapping) or set(observed) != set(expected):
            found.append(_Difference(f"{path}: expected the keys {sorted(expected)}, got {_shown(observed)}"))
            return
        for key in expected:
            _walk(observed[key], expected[key], dtype, tolerance, f"{path}[{key!r}]", found)
    elif isinstance(expected, (list, tuple)):
        if not isinstance(observed, (list, tuple)) or len(observed) != len(expected):
            found.append(_Difference(f"{path}: expected {len(expected)} values, got {_shown(observed)}"))
            return
        for index, (one, other) in enumerate(aligned(observed, expected)):
            _walk(one, other, dtype, tolerance, f"{path}[{index}]", found)
    elif isinstance(observed, Leaf):
        _compare_leaf(observed, expected, dtype, tolerance, path, found)
    elif isinstance(expected, (np.ndarray, np.generic, Expected)):
        found.append(_Difference(f"{path}: expected an array, got {_shown(observed)}"))
    elif isinstance(expected, float) and isinstance(observed, float):
        if not np.isclose(observed, expected, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True):
            found.append(_Difference(f"{path}: expected {expected!r}, got {observed!r}"))
    elif type(observed) is not type(expected) or observed != expected:
        found.append(_Difference(f"{path}: expected {expected!r}, got {_shown(observed)}"))


def _compare_leaf(
    observed: Leaf, expected: Any, dtype: str, tolerance: Tolerance, path: str, found: list[_Difference]
) -> None:
    wanted = np.asarray(expected.values if isinstance(expected, Expected) else expected)
    wanted_dtype = expected.dtype if isinstance(expected, Expected) else _dtype_of(wanted, dtype)
    if observed.values.shape != wanted.shape:
        found.append(_Difference(f"{path}: expected shape {wanted.shape}, got {observed.values.shape}"))
        return
    if observed.dtype != wanted_dtype:
        found.append(_Difference(f"{path}: expected dtype {wanted_dtype}, got {observed.dtype}"))
        return
    right = _close(observed.values, wanted, tolerance)
    if right.all():
        return
    worst = tuple(int(axis) for axis in np.argwhere(~right)[0])
    found.append(
        _Difference(
            f"{path}: {int((~right).sum())} of {right.size} values differ, first at {list(worst)}: "
            f"expected {wanted[worst]!s}, got {observed.values[worst]!s} "
            f"(tolerance {tolerance.relative:g} relative, {tolerance.absolute:g} absolute)",
            values=(observed.values, wanted) if wanted.dtype.kind in "fc" else None,
        )
    )


def _close(observed: Any, wanted: Any, tolerance: Tolerance) -> Any:
    if wanted.dtype.kind in "fc":
        return np.isclose(observed, wanted, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True)
    return observed == wanted


def _dtype_of(wanted: np.ndarray[Any, Any], dtype: str) -> str:
    if wanted.dtype.kind == "f":
        return dtype if dtype in ("float64", "float32", "float16", "bfloat16") else _REAL_OF.get(dtype, "float32")
    if wanted.dtype.kind == "c":
        return dtype if dtype.startswith("complex") else _COMPLEX_OF.get(dtype, "complex64")
    return str(wanted.dtype)


_REAL_OF = {"complex64": "float32", "complex128": "float64"}
_COMPLEX_OF = {"float64": "complex128"}


def _shown(value: Any) -> str:
    if isinstance(value, Leaf):
        return f"an array {value.values.shape} of {value.dtype}"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def leaves(tree: Any) -> list[Leaf]:
    """Return every array of a host tree, in order."""
    if isinstance(tree, Leaf):
        return [tree]
    if isinstance(tree, Mapping):
        return [leaf for member in tree.values() for leaf in leaves(member)]
    if isinstance(tree, Sequence) and not isinstance(tree, (str, bytes)):
        return [leaf for member in tree for leaf in leaves(member)]
    return []


def uniform_twice(observed: Any, *_: Any, **__: Any) -> None:
    """Check two draws with one seed: equal to each other, 3x4 numbers in [0, 1), and not all the same number."""
    first, again = (leaf.values for leaf in observed)
    if not np.array_equal(first, again):
        raise Mismatch("the same seed gave other numbers")
    if not (first.shape == (3, 4) and (first >= 0).all() and (first < 1).all() and np.unique(first).size > 1):
        raise Mismatch(f"expected 3x4 numbers of [0, 1), got {first}")


def require_refusal(error: str | None, *expected: str) -> None:
    """Check that a call raised an expected error. ``error`` is the name of its error, or ``None`` if it returned.

    Raises ``Accepted`` for ``None``, and ``Mismatch`` for an error that is not in ``expected``.
    """
    if error is None:
        raise Accepted("the call was accepted, and had to be refused")
    if error not in expected:
        raise Mismatch(f"the call was refused with {error}, and had to be with {' or '.join(expected)}")
