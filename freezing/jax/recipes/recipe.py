"""A recipe: the calls by which functions of one signature are charted, and the dtypes in which they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freezing.jax.draws import Draw

Call = tuple[Sequence[Any], Mapping[str, Any]]
"""Positional arguments and options, with NumPy arrays for those of the device."""
Calls = Callable[[Draw], Iterable[Call]]


@dataclass(frozen=True)
class Recipe:
    """Functions of one module or class, and how all of them are called."""

    owner: str
    names: tuple[str, ...]
    calls: Calls
    dtypes: tuple[str, ...]
    """The first in which a function takes any call, and the first of the others, are kept."""

    def functions(self) -> Iterator[str]:
        return (f"{self.owner}.{name}" for name in self.names)


def recipe(owner: str, names: str, calls: Calls, dtypes: str = "float32 bfloat16 int32") -> Recipe:
    """A recipe whose names and dtypes are written in one text each."""
    return Recipe(owner, tuple(names.split()), calls, tuple(dtypes.split()))


def call(*arguments: Any, **options: Any) -> Call:
    return arguments, options
