"""Lookup: the object behind a public dotted name, or word that this version has none."""

from __future__ import annotations

import importlib
from typing import Any


def lookup(name: str, release: str) -> Any:
    """The object of a dotted name, through modules and then attributes.

    Raises ``LookupError`` with ``release`` (``torch 2.9.0``) if there is none by that name.
    """
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        module_name = ".".join(parts[:length])
        try:
            found: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is not None and f"{module_name}.".startswith(f"{error.name}."):
                continue
            raise
        for part in parts[length:]:
            try:
                found = getattr(found, part)
            except AttributeError:
                raise LookupError(f"{release} has no {name}") from None
        return found
    raise LookupError(f"{release} has no {name}")
