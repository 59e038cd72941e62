"""``python -m bench.call_sites.seen FRAMEWORK PACKAGE PROGRAM``: the calls that a program makes out of a package.

In the framework's environment. One line of JSON on stdout: the direct calls of public functions that compute, each with
the extent of its expression, the lines of the package that ran, and the names that can be seen at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from itertools import islice
from types import FrameType
from typing import Any

SeenCall = tuple[str, int, int, str]
"""File, first and last line of the expression, and the function's public name."""


_MAPPERS = frozenset({"associative_scan", "cond", "fori_loop", "map", "reduce", "scan", "switch", "while_loop"})
"""Functions of JAX that are handed a function: what that calls is seen, and they are not."""


class Sight:
    """The calls out of one package, and its lines that ran."""

    def __init__(self, folder: str) -> None:
        self.calls: set[SeenCall] = set()
        self.lines: set[tuple[str, int]] = set()
        self._folder = folder + os.sep

    def note(self, frame: FrameType | None, name: str) -> None:
        """Note a call if the frame that makes it is the package's."""
        if frame is not None and frame.f_code.co_filename.startswith(self._folder):
            first, last, *_ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
            self.calls.add((self._path(frame), first or frame.f_lineno, last or frame.f_lineno, name))

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
        return self._ran if frame.f_code.co_filename.startswith(self._folder) else None

    def _ran(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            self.lines.add((self._path(frame), frame.f_lineno))
        return self._ran

    def _path(self, frame: FrameType) -> str:
        return frame.f_code.co_filename.removeprefix(self._folder)


def seen_by_jax(sight: Sight) -> tuple[AbstractContextManager[Any], set[str]]:
    """The public functions are wrapped as a recorder wraps them, while ``jit`` compiles as ever."""
    from runners.jax.recorder import places
    from runners.suite.recording.wrapping import Mode, wrapped

    class Caller:
        def call(self, func: Any, last: str, name: str | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
            sight.note(sys._getframe(2), name or last)
            return func(*args, **kwargs)

    every_place = list(places())
    names = {place.name for place in every_place}
    return wrapped(every_place, Caller(), Mode()), {name for name in names if name.rpartition(".")[2] not in _MAPPERS}


def seen_by_torch(sight: Sight) -> tuple[AbstractContextManager[Any], set[str]]:
    """A function mode is told of each public function; between it and the caller is torch's own dispatch alone."""
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
    print(json.dumps({"calls": sorted(sight.calls), "lines": sorted(sight.lines), "names": sorted(names)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
