"""Wraps public functions so that they pass their calls to the recorder, for frameworks without a hook for calls.

A function is wrapped in the public module or class where users find it. The framework's own code reaches it in other
ways. Calls that a framework makes during a recorded call are not the user's calls and are not recorded.
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
    """Makes the calls that wrapped functions pass on: a recorder or a watcher."""

    def caller(self, func: Any, last: str, name: str | None) -> Caller:
        """Return a function that makes calls of ``func``.

        ``name`` is the public name of ``func``, if it has one. ``last`` is the name of ``func`` after
        the last dot, even if ``func`` has no public name.
        """


@dataclass(frozen=True)
class FunctionLocation:
    """An attribute of a module or class where users find a function."""

    owner: Any
    """The module or class."""
    attribute: str
    name: str
    """The public name under which calls are recorded."""
    as_called: Callable[..., Any] | None = None
    """The function with this public name, if the attribute is another function."""
    take_apart: Callable[[tuple[Any, ...]], tuple[Any, ...]] = lambda arguments: arguments
    """Converts arguments of the attribute to arguments of the function with the public name."""
    own_folder: str | None = None
    """The folder of the framework, if its own code also calls the function through this attribute. Calls from this
    folder are not the user's."""


@dataclass(frozen=True)
class Mode:
    """Settings of the framework while its calls are recorded."""

    computing: Callable[[], AbstractContextManager[Any]] = nullcontext
    """A context manager around the computation of each call."""
    is_on: Callable[[], bool] = lambda: True
    """Whether recording is on at this moment."""


class _Inside(threading.local):
    """Whether the thread is inside a recorded call."""

    yes = False


@contextmanager
def wrap_functions(places: Iterable[FunctionLocation], handler: CallHandler, mode: Mode) -> Iterator[None]:
    """Wrap the functions at these places during the block."""
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
        # If an argument is a function, the call itself is not recorded, but the calls that this function makes are.
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
        # The wrapper needs attributes such as ``reduce`` of ``jax.numpy.add``.
        if not name.startswith("_") and not hasattr(call, name):
            setattr(call, name, getattr(function, name))
    return call


def _has_function(values: Iterable[Any]) -> bool:
    return any(
        _has_function(value) if isinstance(value, (list, tuple)) else callable(value) and not isinstance(value, type)
        for value in values
    )
