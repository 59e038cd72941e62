"""How a mutant comes into what is no plain function of TensorFlow: a class whose instances do the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.framework.mutants import Mutant

Wrapper = Callable[[Any, Mutant], Any]


def wrapper_of(function: Any) -> Wrapper | None:
    """The wrapper for a class; none for a plain function."""
    if not isinstance(function, type):
        return None
    return next((wrapper for base, wrapper in CLASSES.items() if issubclass(function, base)), None)


CLASSES: Mapping[type, Wrapper] = {}
