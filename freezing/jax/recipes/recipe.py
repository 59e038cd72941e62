"""Recipes: the calls of all functions with one signature, and the dtypes in which they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freezing.jax.draws import Array, Draw

Call = tuple[Sequence[Any], Mapping[str, Any]]
"""Positional arguments and options. NumPy arrays in them become arrays of JAX."""
Calls = Callable[[Draw], Iterable[Call]]
Shape = tuple[int, ...]
Source = Callable[..., Array]
"""Draws an array of a shape: a method of ``Draw``, or the result of ``within``."""


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


def within(low: float, high: float) -> Source:
    return lambda draw, *shape: draw.within(low, high, *shape)


def of_one(*calls: Call, by: Source = Draw.array) -> Calls:
    """Make these calls with one array each. The first argument of each call is the shape of its array."""
    return lambda draw: [((by(draw, *shape), *others), options) for (shape, *others), options in calls]


def of_arrays(*shapes: tuple[Shape, ...], by: Source = Draw.array) -> Calls:
    """Make one call for each tuple of shapes, with an array of each shape in the tuple."""
    return lambda draw: [call(*(by(draw, *shape) for shape in own)) for own in shapes]


def of_sources(shapes: Iterable[tuple[Shape, ...]], *sources: Source) -> Calls:
    """Make one call for each tuple of shapes. Each of its arrays is drawn by another source."""
    return lambda draw: [call(*(by(draw, *shape) for by, shape in zip(sources, own))) for own in shapes]


def alike(count: int, *shapes: Shape) -> list[tuple[Shape, ...]]:
    """Return tuples of shapes for calls with ``count`` arrays of the same shape."""
    return [(shape,) * count for shape in shapes]
