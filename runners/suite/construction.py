"""The constructor of a class that is under test: a part of the function, though a case calls it while it prepares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any


@contextmanager
def watched_constructor(function: Any, watch: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Enter ``watch`` around each construction of an object of this class meanwhile.

    The class itself stays in place, as a case may derive from it or look at it. What is no class has no constructor,
    and what is built by ``__new__`` alone, or is a type of C, is left alone.
    """
    if not isinstance(function, type) or function.__init__ is object.__init__:  # type: ignore[misc]
        yield
        return
    kind: Any = function
    construct = kind.__init__
    building = False

    @wraps(construct)
    def watched(self: Any, *arguments: Any, **options: Any) -> None:
        nonlocal building
        if building:
            construct(self, *arguments, **options)
            return
        building = True
        try:
            with watch():
                construct(self, *arguments, **options)
        finally:
            building = False

    own = "__init__" in vars(kind)
    try:
        kind.__init__ = watched
    except TypeError:
        yield
        return
    try:
        yield
    finally:
        if own:
            kind.__init__ = construct
        else:
            del kind.__init__
