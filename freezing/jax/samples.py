"""Write samples: calls of JAX's functions, from a recipe or from a recorded call of a harness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from freezing.common.kinds import kinds_of
from freezing.common.samples import MOST_ELEMENTS, Drawn, Sample
from freezing.jax.draws import Draw
from freezing.jax.recipes.recipe import Call, Recipe
from runners.errors import UnfreezableError
from runners.jax.writing import plain
from runners.suite.frozen import BFLOAT16, PackWriter, Slot, as_text
from runners.suite.rounding import dtype_on_device

NARROW: Mapping[str, str] = {"int64": "int32", "uint64": "uint32"}
"""The types that JAX converts to narrower ones unless 64-bit types are enabled."""


def draw(function: str, recipe: Recipe, dtype: str, pack: PackWriter) -> Drawn:
    """Write the sample calls of one function. The recipe draws their arguments; it can serve several functions."""
    draws = Drawn()
    for number, call in enumerate(recipe.calls(Draw(function, dtype))):
        add(draws, f"{dtype}-{number}", dtype, call, pack)
    return draws


def add(draws: Drawn, name: str, dtype: str, call: Call, pack: PackWriter, public: Mapping[int, str] = {}) -> None:
    """Add a call as a sample, or the reason why it cannot be written. ``public`` maps ``id``s of objects to names."""
    try:
        draws.add(write(name, dtype, call, pack, public))
    except UnfreezableError as error:
        draws.left_out.append((name, str(error)))


def write(name: str, dtype: str, call: Call, pack: PackWriter, public: Mapping[int, str]) -> Sample:
    """Write a call as a sample, and add its arrays to the pack. Raise ``UnfreezableError`` if it cannot be written."""
    arrays: list[str] = []
    shapes: list[tuple[int, ...]] = []

    def leaf(array: Any) -> Slot:
        values, own = _values(array, dtype)
        arrays.append(pack.add(values, own))
        shapes.append(values.shape)
        return Slot(len(arrays) - 1, None if own == dtype_on_device(values, dtype) else own)

    arguments, options = call
    text = as_text((plain(list(arguments), leaf, public), plain(dict(options), leaf, public)))
    elements = sum(int(np.prod(shape)) for shape in shapes)
    if elements > MOST_ELEMENTS:
        raise UnfreezableError(f"more than {MOST_ELEMENTS:,} elements of inputs")
    return Sample(name, dtype, text, tuple(arrays), kinds_of(shapes, dtype), elements)


def _values(array: Any, dtype: str) -> tuple[np.ndarray[Any, Any], str]:
    """Return an array's values and the name of its dtype on the device.

    Values of bfloat16 are returned as float32. Recipes draw float64 and complex128, which stand for the case's dtype.
    """
    own = str(array.dtype)
    if own == BFLOAT16:
        return np.asarray(array).astype(np.float32), own
    values = np.asarray(array)
    if values.dtype.kind not in "biufc":
        raise UnfreezableError(f"an array of {own}")
    if own in ("float64", "complex128"):
        return values, dtype_on_device(values, dtype)
    own = NARROW.get(own, own)
    return values.astype(own), own
