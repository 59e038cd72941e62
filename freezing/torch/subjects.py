"""Public functions that are called in another way than plainly (for example differentiated), as ``GatedFunction``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from freezing.common.agreement import Reference
from freezing.common.gate import Arguments, GatedFunction
from freezing.torch import references
from freezing.torch.processor import other_processors
from runners.torch.devices import Cpu
from runners.torch.frozen import FrozenCall
from runners.torch.ways import Way


class WaySubject(GatedFunction):
    """A public function that is called in another way. Its arguments are the parts of a written call."""

    def __init__(self, name: str, function: Callable[..., Any], way: Way) -> None:
        super().__init__(name, called_by(way, function), Cpu())

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return FrozenCall(call).parts(arrays, self.device.handle), {}

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield "float64", lambda: references.in_float64(self.call, fresh)

    def other_processors(self) -> Sequence[AbstractContextManager[None]]:
        return other_processors()


def called_by(way: Way, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes the parts of a written call and calls ``function`` in this way."""
    return lambda *parts: way(function, *parts)()
