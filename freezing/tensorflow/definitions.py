"""Read the definitions of raw operations, and derive recipes from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorflow as tf
from freezing.tensorflow.recipe import Arguments, Draw, Recipe
from tensorflow.python.framework import op_def_registry

RAW = "tf.raw_ops"
SORTED = "sorted_"
"""The prefix of the names of inputs whose values must be sorted."""
_NO_ARRAYS = {
    tf.resource.as_datatype_enum: "a resource",
    tf.variant.as_datatype_enum: "a variant",
    tf.string.as_datatype_enum: "texts",
}
_WHOLE = {tf.as_dtype(name).as_datatype_enum: name for name in ("int32", "int64", "uint8", "int8", "uint64")}
_SHAPES: tuple[tuple[str, Callable[[int], tuple[int, ...]]], ...] = (
    ("vectors", lambda place: (4,)),
    ("matrices", lambda place: (3, 4)),
    ("scalars", lambda place: ()),
    ("squares", lambda place: (3, 3)),
    ("planes", lambda place: (1, 4, 4, 2)),
    ("matrix-and-scalars", lambda place: (3, 4) if place == 0 else ()),
    ("matrix-and-vectors", lambda place: (3, 4) if place == 0 else (4,)),
    ("empty", lambda place: (0, 3)),
)
"""Names for the shapes of an operation's arrays. A function returns the shape of each array by its place."""


def definition_of(name: str) -> Any:
    """Return the definition of a raw operation; None for any other function."""
    home, _, own = name.rpartition(".")
    return op_def_registry.get(own) if home == RAW else None


def unfit(name: str, is_random: Callable[[str], object]) -> str | None:
    """Return why a raw operation is not a function of arrays alone; None if it is one."""
    definition = definition_of(name)
    if definition is None:
        return None
    for argument in (*definition.input_arg, *definition.output_arg):
        kind = "a reference" if argument.is_ref else _NO_ARRAYS.get(argument.type)
        if kind:
            return f"{argument.name} is {kind}"
    if definition.is_stateful and not is_random(name):
        return "it keeps a state, or is run for its effect"
    return None


def raw_recipes(name: str) -> Iterator[Recipe]:
    """Yield recipes with an array for each input of a raw operation, by the shapes in ``_SHAPES``."""
    definition = definition_of(name)
    if definition is None or not definition.input_arg:
        return
    if any(attribute.type != "type" for attribute in _attributes_to_give(definition)):
        return
    for title, shape in _SHAPES:
        yield Recipe(f"derived-{title}", lambda draw, shape=shape: _arguments(definition, draw, shape))  # type: ignore[misc]


def _attributes_to_give(definition: Any) -> list[Any]:
    """Return the attributes that a call must set: they have no default, and no input implies them."""
    inputs = definition.input_arg
    decided_names = {
        name
        for argument in inputs
        for name in (argument.type_attr, argument.number_attr, argument.type_list_attr)
        if name
    }
    return [
        attribute
        for attribute in definition.attr
        if attribute.name not in decided_names and not attribute.HasField("default_value")
    ]


def _arguments(definition: Any, draw: Draw, shape: Callable[[int], tuple[int, ...]]) -> Arguments:
    arguments: Arguments = {attribute.name: draw.dtype for attribute in _attributes_to_give(definition)}
    for place, argument in enumerate(definition.input_arg):
        values = _values(definition, argument, draw, shape(place))
        arguments[argument.name] = [values, values] if argument.number_attr or argument.type_list_attr else values
    return arguments


def _values(definition: Any, argument: Any, draw: Draw, shape: tuple[int, ...]) -> Any:
    allowed_types = [
        set(attribute.allowed_values.list.type) for attribute in definition.attr if attribute.name == argument.type_attr
    ]
    if argument.type in _WHOLE:
        return draw.ints(*shape, dtype=_WHOLE[argument.type])
    if argument.type == tf.bool.as_datatype_enum:
        return draw.bools(*shape)
    if (
        allowed_types
        and allowed_types[0]
        and allowed_types[0] <= {tf.int32.as_datatype_enum, tf.int64.as_datatype_enum}
    ):
        return draw.ints(*shape)
    values = draw.array(*shape)
    # Only the name of an input says that its values must be sorted. With others the operation's result is undefined.
    return np.sort(values, axis=-1) if argument.name.startswith(SORTED) and values.ndim else values
