"""Lookup: the object behind a public dotted name, or word that this version has none."""

from __future__ import annotations

import importlib
from functools import reduce
from types import ModuleType
from typing import Any


def lookup(name: str, release: str) -> Any:
    """The object of a dotted name, as a caller has it who imports no more of its modules than must be.

    Imports of all that may be a module would find one where a function hides it that bears its name
    (``torch.nn.utils.weight_norm``), and folders of the package that are not the public module of that name
    (``tensorflow/distribute``). Raises ``LookupError`` with ``release`` (``torch 2.9.0``) if there is none.
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
    """The module of that name; None if there is none, and an error if it is there and wants another that is not."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None
