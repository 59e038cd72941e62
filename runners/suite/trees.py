"""Trees: nested lists, tuples, dicts and dataclasses with arrays, as a call takes and returns them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def mapped(tree: Any, change: Callable[[Any], Any], kinds: Any) -> Any:
    """Copy a tree and apply ``change`` to every member of type ``kinds``. A named tuple becomes a plain tuple."""
    if isinstance(tree, kinds):
        return change(tree)
    if isinstance(tree, Mapping):
        return {key: mapped(value, change, kinds) for key, value in tree.items()}
    if isinstance(tree, tuple):
        # Named tuples too: torch's PackedSequence, for example, accepts only tensors as members.
        return tuple(mapped(member, change, kinds) for member in tree)
    if isinstance(tree, list):
        return [mapped(member, change, kinds) for member in tree]
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = dataclasses.fields(tree)
        return {field.name: mapped(getattr(tree, field.name), change, kinds) for field in fields}
    return tree


def numbers_in(tree: Any) -> int:
    """Count the numbers that a tree holds on the host: Python numbers, elements of NumPy arrays, and characters."""
    if isinstance(tree, (bool, int, float, complex)):
        return 1
    if isinstance(tree, (np.ndarray, np.generic)):
        return int(tree.size)
    if isinstance(tree, (str, bytes)):
        return len(tree)
    if isinstance(tree, Mapping):
        return sum(map(numbers_in, tree.values()))
    if isinstance(tree, (list, tuple, set, frozenset)):
        return sum(map(numbers_in, tree))
    return 0
