"""Wrapping: public functions hand their calls to the recorder, for frameworks that tell nobody of a call.

A function is wrapped where its users find it, in the public module or class. The framework's own code has other ways
to it, and what it calls within a recorded call is no call of the user's.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from runners.suite.recording.recorder import Caller

_MISSING: Any = object()


class CallHandler(Protocol):
    """Makes the calls that are handed to it: a recorder or a watcher."""

    def caller(self, func: Any, last: str, name: str | None) -> Caller:
        """The way to make calls of a function. ``name`` is its public name, if it has one, and ``last`` its end."""


@dataclass(frozen=True)
class FunctionLocation:
    """A place where users find a function."""

    owner: Any
    """The module or class."""
    attribute: str
    name: str
    """Under which its calls are recorded."""
    as_called: Callable[..., Any] | None = None
    """The function of that name, where it is another than the one that is found there."""
    take_apart: Callable[[tuple[Any, ...]], tuple[Any, ...]] = lambda arguments: arguments
    """Makes the arguments of that name's function of those of the one that is found there."""
    own_folder: str | None = None
    """Where the framework's own code lies, if that has no other way to the function: its calls are not the user's."""


@dataclass(frozen=True)
class Mode:
    """How the framework works while its calls are recorded."""

    computing: Callable[[], AbstractContextManager[Any]] = nullcontext
    """The scope in which it computes a call."""
    is_on: Callable[[], bool] = lambda: True
    """Whether calls that are made now are recorded."""


class _Inside(threading.local):
    """Whether a thread is within a recorded call."""

    yes = False


@contextmanager
def wrap_functions(places: Iterable[FunctionLocation], handler: CallHandler, mode: Mode) -> Iterator[None]:
    """Wrap the functions at these places."""
    inside, before = _Inside(), []
    try:
        for place in places:
            function = getattr(place.owner, place.attribute)
            before.append((place, vars(place.owner).get(place.attribute, _MISSING)))
            setattr(place.owner, place.attribute, _wrapper(function, place, handler, mode, inside))
        yield
    finally:
        for place, value in reversed(before):
            if value is _MISSING:
                delattr(place.owner, place.attribute)
            else:
                setattr(place.owner, place.attribute, value)


def _wrapper(
    function: Any,
    place: FunctionLocation,
    handler: CallHandler,
    mode: Mode,
    inside: _Inside,
) -> Callable[..., Any]:
    last = place.name.rpartition(".")[2]
    as_called, own_folder = place.as_called or function, place.own_folder

    def compute(*args: Any, **kwargs: Any) -> Any:
        with mode.computing():
            return as_called(*args, **kwargs)

    make = handler.caller(compute, last, place.name)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # With a function among the arguments the calls are recorded that this function makes.
        if inside.yes or not mode.is_on() or _has_function(args) or (kwargs and _has_function(kwargs.values())):
            return function(*args, **kwargs)
        if own_folder is not None and sys._getframe(1).f_code.co_filename.startswith(own_folder):
            return function(*args, **kwargs)
        inside.yes = True
        try:
            return make(place.take_apart(args), kwargs)
        finally:
            inside.yes = False

    for name in dir(function):
        # Such as ``reduce`` of ``jax.numpy.add``.
        if not name.startswith("_") and not hasattr(call, name):
            setattr(call, name, getattr(function, name))
    return call


def _has_function(values: Iterable[Any]) -> bool:
    return any(
        _has_function(value) if isinstance(value, (list, tuple)) else callable(value) and not isinstance(value, type)
        for value in values
    )
