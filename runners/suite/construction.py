"""Watches the constructor of a class under test: a part of the function that a case calls during preparation."""

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
    """During the block, enter ``watch`` around each construction of an object of the class.

    The class is not replaced, because a case may derive from it or inspect it. For a function, or a C type whose
    methods cannot be replaced, this does nothing.
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

        # Keras reads the parameters of a layer from the signature of its constructor, without unwrapping it.
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
