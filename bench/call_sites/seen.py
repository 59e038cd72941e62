"""``python -m bench.call_sites.seen FRAMEWORK PACKAGE PROGRAM``: records the calls that a program makes from a
package's code.

It runs in the framework's environment and prints one line of JSON: the direct calls of public functions that compute,
each with the lines of its expression; the expressions of the package that ran; and the names whose calls can be
recorded.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import runpy
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from itertools import islice
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runners.suite.recording.wrapping import FunctionLocation

SeenCall = tuple[str, int, int, str]
"""File, first and last line of the expression, and the function's public name."""
Place = tuple[str, int, int]
"""File, line and column, from 1."""


class Sight:
    """Collects the calls from one package's code, and the positions where its executed expressions begin and end."""

    def __init__(self, folder: str) -> None:
        self.calls: set[SeenCall] = set()
        self._ran_by_code: dict[CodeType, set[int]] = {}
        self._folder = folder + os.sep

    def note(self, frame: FrameType | None, name: str) -> None:
        """Record a call if the calling frame belongs to the package."""
        if frame is not None and frame.f_code.co_filename.startswith(self._folder):
            first, last, *_ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
            self.calls.add((self._path(frame.f_code), first or frame.f_lineno, last or frame.f_lineno, name))

    @contextlib.contextmanager
    def tracing(self) -> Iterator[None]:
        threading.settrace(self._trace_function)
        sys.settrace(self._trace_function)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def _trace_function(self, frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(self._folder):
            return None
        # A line is not precise enough: a condition in it may skip calls, and a lambda's body runs later or never.
        frame.f_trace_opcodes = True
        return self._ran

    def _ran(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "opcode":
            self._ran_by_code.setdefault(frame.f_code, set()).add(frame.f_lasti)
        return self._ran

    def places(self) -> Iterator[Place]:
        """The positions where executed expressions begin and end."""
        for code, offsets in self._ran_by_code.items():
            path = self._path(code)
            for number, (first, last, column, last_column) in enumerate(code.co_positions()):
                if 2 * number in offsets and None not in (first, last, column, last_column):
                    yield path, int(first or 0), int(column or 0) + 1
                    yield path, int(last or 0), int(last_column or 0) + 1

    def _path(self, code: CodeType) -> str:
        return code.co_filename.removeprefix(self._folder)


def seen_by_jax(sight: Sight) -> tuple[AbstractContextManager[Any], set[str]]:
    """Record calls of public functions under their public names. ``jit`` compiles as usual."""
    from runners.jax.recorder import places

    every_place = list(places())
    return _noting(every_place, sight), {place.name for place in every_place}


@contextlib.contextmanager
def _noting(places: Sequence[FunctionLocation], sight: Sight) -> Iterator[None]:
    before = [(place, vars(place.owner).get(place.attribute)) for place in places]
    for place in places:
        function = getattr(place.owner, place.attribute)
        setattr(place.owner, place.attribute, _noting_function(function, place.name, sight))
    yield
    for place, value in reversed(before):
        if value is None:
            delattr(place.owner, place.attribute)
        else:
            setattr(place.owner, place.attribute, value)


def _noting_function(function: Any, name: str, sight: Sight) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        sight.note(sys._getframe(1), name)
        return function(*args, **kwargs)

    for member in dir(function):
        # For example ``reduce`` of ``jax.numpy.add``.
        if not member.startswith("_") and not hasattr(call, member):
            setattr(call, member, getattr(function, member))
    return call


def seen_by_torch(sight: Sight) -> tuple[AbstractContextManager[Any], set[str]]:
    """Record calls with a function mode. Torch calls this mode directly from each public function."""
    import torch
    from torch.overrides import TorchFunctionMode, get_testing_overrides, resolve_name

    from runners.torch.recordable import NOT_COMPUTING

    home = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
    between = tuple(
        home + file for file in ("overrides.py", "_jit_internal.py", "_tensor.py", "functional.py", "nn/functional.py")
    )

    class SightMode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = resolve_name(func) or getattr(func, "__name__", "")
            if name.rpartition(".")[2] not in {*NOT_COMPUTING, "__get__", "__set__"}:
                frame: FrameType | None = sys._getframe(1)
                own = getattr(func, "__code__", None)
                while frame is not None and (frame.f_code.co_filename in between or frame.f_code is own):
                    frame = frame.f_back
                sight.note(frame, name)
            return func(*args, **(kwargs or {}))

    names = {name for function in get_testing_overrides() if (name := resolve_name(function))}
    return SightMode(), {
        name for name in names if name.rpartition(".")[2] not in {*NOT_COMPUTING, "__get__", "__set__"}
    }


SEEN_BY: Mapping[str, Callable[[Sight], tuple[AbstractContextManager[Any], set[str]]]] = {
    "jax": seen_by_jax,
    "torch": seen_by_torch,
}


def main(framework: str, package: str, program: str) -> None:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    sight = Sight(os.path.abspath(next(iter(spec.submodule_search_locations))))
    scope, names = SEEN_BY[framework](sight)
    with contextlib.redirect_stdout(sys.stderr), sight.tracing(), scope:
        runpy.run_path(program, run_name="__main__")
    print(json.dumps({"calls": sorted(sight.calls), "places": sorted(set(sight.places())), "names": sorted(names)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
