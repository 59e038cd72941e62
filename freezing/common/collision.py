"""Find different values that a call writes to the same place, so that either may stay. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def collide(values: Array, places: Array, axes: int) -> bool:
    """Whether different values have the same place. Each slice of the last ``axes`` axes has its own places."""
    if not values.size:
        return False
    size = int(np.prod(values.shape[-axes:]))
    return any(
        _is_ambiguous(numbers, line) for numbers, line in zip(values.reshape(-1, size), places.reshape(-1, size))
    )


def _is_ambiguous(numbers: Array, line: Array) -> bool:
    order = np.lexsort((numbers, line))
    same_place = line[order][1:] == line[order][:-1]
    return bool((same_place & (numbers[order][1:] != numbers[order][:-1])).any())
