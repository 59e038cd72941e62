"""The constructor of a class that is under test: a part of the function, though a case calls it while it prepares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any


@contextmanager
def watched_constructor(function: Any, watch: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Enter ``watch`` around each construction of an object of this class meanwhile.

    The class itself stays in place, as a case may derive from it or look at it. What is no class has no constructor, and
    what is built by ``__new__`` alone, or is a type of C, is left alone.
    """
    construct = getattr(function, "__init__", None)
    if not isinstance(function, type) or construct is object.__init__:
        yield
        return
    building = False

    @wraps(function.__init__)
    def watched(self: Any, *arguments: Any, **options: Any) -> None:
        nonlocal building
        if building:
            return construct(self, *arguments, **options)
        building = True
        try:
            with watch():
                construct(self, *arguments, **options)
        finally:
            building = False

    own = "__init__" in vars(function)
    try:
        function.__init__ = watched  # type: ignore[misc]
    except TypeError:
        yield
        return
    try:
        yield
    finally:
        if own:
            function.__init__ = construct  # type: ignore[misc]
        else:
            del function.__init__
