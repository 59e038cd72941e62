"""Writes a call as data. Arrays become slots, and JAX's own values are written by their names.

Freezing and recording use the same format. ``frozen.py`` makes the call from it.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from runners.errors import UnfreezableError
from runners.jax.frozen import MADE, PUBLIC
from runners.suite.frozen import Named, Slot

KEY = "key<"
"""The prefix of the dtype of a random key, ``key<threefry2x32>``. The key's own data are integers."""


def plain(tree: Any, leaf: Callable[[Any], Slot], public: Mapping[int, str]) -> Any:
    """Return the tree with slots in place of arrays, and named values in place of JAX's own objects."""
    if isinstance(tree, np.dtype) or (isinstance(tree, type) and issubclass(tree, np.generic)):
        return Named("dtype", np.dtype(tree).name)
    own = getattr(tree, "dtype", None) if isinstance(tree, type) else None
    if isinstance(own, np.dtype):
        return Named("dtype", own.name)
    if isinstance(tree, jax.Device):
        return Named("device", "")
    if id(tree) in public:
        return Named(PUBLIC, public[id(tree)])
    if hasattr(tree, "shape") and hasattr(tree, "dtype"):
        return leaf(tree)
    if isinstance(tree, enum.Enum) and id(type(tree)) in public:
        return Named(PUBLIC, f"{public[id(type(tree))]}.{tree.name}")
    if isinstance(tree, tuple) and hasattr(tree, "_fields") and id(type(tree)) in public:
        fields = {name: getattr(tree, name) for name in tree._fields}
        return Named(MADE, json.dumps({"class": public[id(type(tree))], "fields": _written_fields(fields)}))
    if isinstance(tree, (list, tuple)):
        members = [plain(member, leaf, public) for member in tree]
        return members if isinstance(tree, list) else tuple(members)
    if isinstance(tree, Mapping):
        return {key: plain(member, leaf, public) for key, member in tree.items()}
    return tree


def _written_fields(tree: Any) -> Any:
    """Return the fields with their integers converted to types of JSON."""
    if isinstance(tree, Mapping):
        return {key: _written_fields(member) for key, member in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_written_fields(member) for member in tree]
    if isinstance(tree, np.integer):
        return int(tree)
    if tree is None or isinstance(tree, (bool, int, str)):
        return tree
    raise UnfreezableError(f"a field that is a {type(tree).__name__}")
