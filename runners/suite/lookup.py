"""Looks up objects by their public dotted names."""

from __future__ import annotations

import importlib
from functools import reduce
from types import ModuleType
from typing import Any


def lookup(name: str, release: str) -> Any:
    """Return the object of a dotted name. Imports as few of its modules as possible.

    Importing every part that could be a module would give wrong objects: a module that is hidden by a function of the
    same name (``torch.nn.utils.weight_norm``), or a private folder instead of the public module of that name
    (``tensorflow/distribute``). Raises ``LookupError`` that names the ``release`` (``torch 2.9.0``) if there is no such
    object.
    """
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        module = _module(".".join(parts[:length]))
        if module is None:
            break
        try:
            return reduce(getattr, parts[length:], module)
        except AttributeError:
            continue
    raise LookupError(f"{release} has no {name}")


def _module(name: str) -> ModuleType | None:
    """Import a module. Returns None if it does not exist; raises if it exists but one of its own imports fails."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None
