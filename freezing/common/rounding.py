"""Rounding: whole numbers that are cut from computed floats, and where another processor may get another one. Pure.

A computed float is only right up to its last digits. Where these decide on which side of a whole number it lies, the
number that is cut from it is chance. What becomes of NaN, or of a number that the integer type does not hold, nothing
determines at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
DIGITS = 16
"""Last digits by which a few operations may differ from processor to processor."""
BY_ROUNDING = "a rounding of a computed float decides its whole number"
UNCONVERTIBLE = "it converts NaN, or a number that the integer type does not hold, and nothing says to what"


def hangs_on_digits(values: Array, last_digit: float, *, at_half: bool = False, cuts_to_zero: bool = False) -> bool:
    """Whether the last digits of any of these floats decide its whole number.

    The whole number changes at each whole number, or ``at_half`` between two. A conversion ``cuts_to_zero``, so at zero
    itself nothing changes.
    """
    wide = np.asarray(values, np.float64)
    wide = wide[np.isfinite(wide)]
    shifted = wide + 0.5 if at_half else wide
    nearest = np.rint(shifted)
    is_near = np.abs(shifted - nearest) <= DIGITS * last_digit * np.maximum(np.abs(wide), 1)
    return bool((is_near & ~(cuts_to_zero & (nearest == 0))).any())


def are_whole(values: Array, last_digit: float) -> bool:
    """Whether all are whole numbers that the type holds exactly, so that their sums and products are exact."""
    wide = np.asarray(values, np.float64)
    return bool((np.isfinite(wide) & (wide == np.rint(wide)) & (np.abs(wide) <= 1 / last_digit)).all())


def are_powers_of_two(values: Array) -> bool:
    """Whether a division by these is exact."""
    mantissas, _ = np.frexp(np.asarray(values, np.float64))
    return bool((np.abs(mantissas) == 0.5).all())
