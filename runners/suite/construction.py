"""The constructor of a class under test. It is a part of the function, although a case calls it during preparation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import wraps
from inspect import signature
from types import FunctionType
from typing import Any

from runners.suite.replacing import replacing


@contextmanager
def watched_constructor(function: Any, watch: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Enter ``watch`` around each construction of an object of this class during the block.

    The class itself stays in place, because a case may derive from it or inspect it. A function has no constructor, and
    a C type is left unchanged.
    """
    if not isinstance(function, type):
        yield
        return
    building = False

    def watching(construct: Any) -> Any:
        @wraps(construct)
        def construct_watched(*arguments: Any, **options: Any) -> Any:
            nonlocal building
            if building:
                return construct(*arguments, **options)
            building = True
            try:
                with watch():
                    return construct(*arguments, **options)
            finally:
                building = False

        # Keras reads the arguments of a layer's constructor off it, and does not look behind a wrapper.
        with suppress(ValueError):
            construct_watched.__signature__ = signature(construct)  # type: ignore[attr-defined]
        return construct_watched

    kind: Any = function
    with ExitStack() as stack:
        with suppress(TypeError):
            if kind.__init__ is not object.__init__:
                stack.enter_context(replacing(kind, "__init__", watching(kind.__init__)))
            if isinstance(kind.__new__, FunctionType):
                stack.enter_context(replacing(kind, "__new__", staticmethod(watching(kind.__new__))))
        yield
