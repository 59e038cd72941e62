"""Recipes: the calls of all functions with one signature, and the dtypes in which they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freezing.jax.draws import Draw

Call = tuple[Sequence[Any], Mapping[str, Any]]
"""Positional arguments and options. NumPy arrays in them become arrays of JAX."""
Calls = Callable[[Draw], Iterable[Call]]


@dataclass(frozen=True)
class Recipe:
    """Functions of one module or class with the same signature, and their calls."""

    owner: str
    names: tuple[str, ...]
    calls: Calls
    dtypes: tuple[str, ...]
    """The dtypes to try, in order. Only the first two in which a call of the function succeeds get cases."""

    def functions(self) -> Iterator[str]:
        return (f"{self.owner}.{name}" for name in self.names)


def recipe(owner: str, names: str, calls: Calls, dtypes: str = "float32 bfloat16 int32") -> Recipe:
    """Make a recipe from names and dtypes that are separated by spaces."""
    return Recipe(owner, tuple(names.split()), calls, tuple(dtypes.split()))


def call(*arguments: Any, **options: Any) -> Call:
    return arguments, options
