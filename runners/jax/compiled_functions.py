"""Compiled functions of the user's under the recorder: two calls of each signature run as they are written, the others
compiled.

JAX traces a function once for each signature of its arguments and compiles that, so every call of one signature makes
the same calls. The first shows them, the second their times without anything's compilation, and each further one counts
as the second did. A training then takes as long as without a recorder. Only a loop whose length the data decide may
have run for another number of times.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MethodType
from typing import Any

import jax
import numpy as np
from jax._src import config, core
from jax._src.array import ArrayImpl

from runners.suite.recording.book import Book, Repeat

_STATIC = ("static_argnums", "static_argnames")
_NUMBERS = (bool, int, float, complex)


@contextmanager
def compiling(book: Book) -> Iterator[None]:
    """Have what ``jax.jit`` makes from now on run so."""
    before = jax.jit

    @functools.wraps(before)
    def jit(*functions: Callable[..., Any], **options: Any) -> Any:
        has_static = any(options.get(name) is not None for name in _STATIC)
        if not functions:
            return lambda function: CompiledFunction(before(function, **options), book, has_static=has_static)
        return CompiledFunction(before(*functions, **options), book, has_static=has_static)

    jax.jit = jit
    try:
        yield
    finally:
        jax.jit = before


class CompiledFunction:
    """A function that ``jax.jit`` made, in its place."""

    def __init__(self, function: Any, book: Book, *, has_static: bool) -> None:
        """``has_static``: plain numbers among the arguments may be part of the signature by their values."""
        functools.update_wrapper(self, function)
        self._function = function
        self._book = book
        self._has_static = has_static
        self._repeats: dict[Any, Repeat | None] = {}
        """By signature; None: it was called once."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        signature = self._signature(args, kwargs) if config.disable_jit.value else None
        if signature is None:
            return self._function(*args, **kwargs)
        repeat = self._repeats.get(signature)
        if repeat is not None:
            with config.disable_jit(False):
                result = self._function(*args, **kwargs)
            self._book.again(repeat)
            return result
        mark = self._book.mark()
        result = self._function(*args, **kwargs)
        self._repeats[signature] = self._book.since(mark) if signature in self._repeats else None
        return result

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def _signature(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """All by which JAX tells calls apart; None of a call that is itself traced, or that has no signature."""
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        forms: list[Any] = [tree]
        for leaf in leaves:
            kind = type(leaf)
            if kind is ArrayImpl:
                forms += kind, leaf.dtype, leaf.shape, leaf.weak_type
            elif isinstance(leaf, core.Tracer):
                return None
            elif isinstance(leaf, (np.ndarray, np.generic)):
                forms += kind, leaf.dtype, leaf.shape
            elif kind in _NUMBERS and not self._has_static:
                forms.append(kind)
            else:
                forms += kind, leaf
        signature = tuple(forms)
        try:
            hash(signature)
        except TypeError:
            return None
        return signature
