"""The user's compiled functions during a recording. For each signature, two calls run uncompiled, and all further calls
compiled.

JAX traces and compiles a function once for each signature of its arguments, so every call with one signature makes the
same inner calls. The recorder takes the inner calls from the first call, and their times, without compilation, from the
second. It counts each further call like the second, so a training takes as long as without a recorder. The counts can
be wrong only for a loop whose length depends on the data.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MethodType
from typing import Any

import jax
import numpy as np
from jax._src import config, core

from runners.suite.recording.book import Book, CallTally

MOST_SIGNATURES = 500
"""The maximum number of signatures with which one function runs compiled. With further signatures it runs
uncompiled."""
MOST_COUNTS = 100_000
"""The maximum number of counts that are kept for one function, over all of its signatures."""
_NUMBERS = (bool, int, float, complex)


@contextmanager
def compiling(book: Book) -> Iterator[None]:
    """During the block, functions made by ``jax.jit`` run as this module describes."""
    before = jax.jit

    @functools.wraps(before)
    def jit(*functions: Callable[..., Any], **options: Any) -> Any:
        def compile_function(function: Callable[..., Any]) -> CompiledFunction:
            return CompiledFunction(before(function, **options), book, StaticArguments.of(function, options))

        return compile_function(*functions) if functions else compile_function

    jax.jit = jit
    try:
        yield
    finally:
        jax.jit = before


@dataclass(frozen=True)
class StaticArguments:
    """The arguments of a compiled function whose values are part of its signature."""

    positions: frozenset[int]
    names: frozenset[str]

    @classmethod
    def of(cls, function: Callable[..., Any], options: Mapping[str, Any]) -> StaticArguments:
        """Return the static arguments that the options of ``jax.jit`` name. An argument with a position and a name is
        static in both forms."""
        numbers, names = options.get("static_argnums"), options.get("static_argnames")
        positions = {numbers} if isinstance(numbers, int) else set(numbers or ())
        keywords = {names} if isinstance(names, str) else set(names or ())
        if not positions and not keywords:
            return cls(frozenset(), frozenset())
        try:
            parameters = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            parameters = []
        positions = {position + len(parameters) if position < 0 else position for position in positions}
        by_name = {place for place, name in enumerate(parameters) if name in keywords}
        by_place = {name for place, name in enumerate(parameters) if place in positions}
        return cls(frozenset(positions | by_name), frozenset(keywords | by_place))


class CompiledFunction:
    """Replaces a function made by ``jax.jit``."""

    def __init__(self, function: Any, book: Book, static: StaticArguments) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._book = book
        self._static = static
        self._tallies: dict[Any, CallTally | None] = {}
        """The counts of a call by its signature; None if it was called only once so far."""
        self._counts = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        signature = self._signature(args, kwargs) if config.disable_jit.value else None
        if signature is None:
            return self._function(*args, **kwargs)
        tally = self._tallies.get(signature)
        if tally is not None:
            with config.disable_jit(False):
                result = self._function(*args, **kwargs)
            self._book.again(tally)
            return result
        if signature not in self._tallies:
            result = self._function(*args, **kwargs)
            if len(self._tallies) < MOST_SIGNATURES:
                self._tallies[signature] = None
            return result
        with self._book.tally() as tally:
            result = self._function(*args, **kwargs)
        if self._counts + len(tally) <= MOST_COUNTS:
            self._counts += len(tally)
            self._tallies[signature] = tally
        return result

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def _signature(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return everything by which JAX distinguishes calls; None for a call that is itself being traced, or that has
        no signature."""
        positions, names = self._static.positions, self._static.names
        values = {place: value for place, value in enumerate(args) if place in positions}
        keywords = {name: value for name, value in kwargs.items() if name in names}
        traced_arguments = (
            [None if place in values else value for place, value in enumerate(args)],
            {name: value for name, value in kwargs.items() if name not in keywords},
        )
        leaves, tree = jax.tree_util.tree_flatten(traced_arguments)
        forms: list[Any] = [tree]
        for place_or_name, value in (*values.items(), *keywords.items()):
            forms += place_or_name, type(value), value
        for leaf in leaves:
            kind = type(leaf)
            if isinstance(leaf, core.Tracer):
                return None
            if isinstance(leaf, jax.Array):
                # A key of jax.random is an array of another class than the others.
                forms += kind, leaf.dtype, leaf.shape, getattr(leaf, "weak_type", False)
            elif isinstance(leaf, (np.ndarray, np.generic)):
                forms += kind, leaf.dtype, leaf.shape
            elif kind in _NUMBERS:
                forms.append(kind)
            else:
                forms += kind, leaf
        signature = tuple(forms)
        try:
            hash(signature)
        except TypeError:
            return None
        return signature
