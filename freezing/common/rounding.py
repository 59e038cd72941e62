"""Find integers that another processor may round differently from a computed float. Pure.

The last digits of a computed float are uncertain. If they decide on which side of an integer the float lies, the
truncated integer may differ between processors. The result of converting NaN, or a number that the integer type cannot
represent, is undefined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
DIGITS = 16
"""The number of last digits (units in the last place) by which processors may differ after a few operations."""
BY_ROUNDING = "a rounding of a computed float decides its whole number"
UNCONVERTIBLE = "it converts NaN, or a number that the integer type does not hold, and nothing says to what"


def hangs_on_digits(values: Array, last_digit: float, *, at_half: bool = False, cuts_to_zero: bool = False) -> bool:
    """Whether the last digits of any of these floats decide to which integer it is converted.

    The integer changes at each whole number, or with ``at_half`` in the middle between two. With ``cuts_to_zero``, as
    in truncation, it does not change at zero.
    """
    wide = np.asarray(values, np.float64)
    wide = wide[np.isfinite(wide)]
    shifted = wide + 0.5 if at_half else wide
    nearest = np.rint(shifted)
    is_near = np.abs(shifted - nearest) <= DIGITS * last_digit * np.maximum(np.abs(wide), 1)
    return bool((is_near & ~(cuts_to_zero & (nearest == 0))).any())


def are_whole(values: Array, last_digit: float) -> bool:
    """Whether all are integers that the float type represents exactly, so that sums and products are exact, too."""
    wide = np.asarray(values, np.float64)
    return bool((np.isfinite(wide) & (wide == np.rint(wide)) & (np.abs(wide) <= 1 / last_digit)).all())


def are_powers_of_two(values: Array) -> bool:
    """Whether all are powers of two, so that a division by them is exact."""
    mantissas, _ = np.frexp(np.asarray(values, np.float64))
    return bool((np.abs(mantissas) == 0.5).all())
