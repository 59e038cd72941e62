"""Frozen calls of JAX: their arguments are made from the case's arrays, on the device that the case is forced onto."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from runners.jax.ways import JIT, WAYS
from runners.suite.cases import Context, Function
from runners.suite.frozen import Named, Slot, decode
from runners.suite.recording.replay import WAY

PUBLIC = "public"
"""The kind of a named value that is a public JAX object: a function, or a member of an enumeration."""
MADE = "made"
"""The kind of a named value that is an object of a public JAX class. Its text is the class and the fields, in JSON."""


@dataclass(frozen=True)
class FrozenCall:
    """Prepares a stored call. The first two parts of ``written`` are its positional arguments and its keyword
    arguments."""

    written: str

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        if self.way is not None:
            return partial(program(context.function, self.written, context.device), *arrays)
        arguments, options = self.arguments(arrays, context.device)
        return context.compiled(partial(context.function, *arguments, **options))

    @property
    def way(self) -> str | None:
        """The way in which the function is used (``ways.py``); None if the function is simply called."""
        way: str | None = json.loads(self.written).get(WAY)
        return way

    def arguments(self, arrays: Sequence[Any], device: Any) -> Any:
        """The parts of the call, with JAX arrays in their places."""
        return decode(
            json.loads(self.written),
            lambda slot: _of_its_dtype(arrays[slot.number], slot),
            lambda value: resolved(value, device),
        )


def under_jit_if_possible(function: Function, call: FrozenCall) -> FrozenCall:
    """The call as one program for all shapes, if a case shows that the function works under ``jax.jit``."""
    if call.way is not None or not any(JIT in case.tags for case in function.cases):
        return call
    return FrozenCall(json.dumps({**json.loads(call.written), WAY: JIT}, separators=(",", ":")))


@lru_cache(maxsize=1)
def program(function: Any, written: str, device: Any) -> Callable[..., Any]:
    """The call, in the stored way, as one program that JAX compiles. Only the case's arrays are arguments of the
    program; everything else is static.

    The last program is cached, because one case is prepared several times, and JAX would compile each program again.
    """
    import jax

    call = FrozenCall(written)
    way = WAYS[str(call.way)]
    return jax.jit(lambda *arrays: way(function, *call.arguments(arrays, device)))  # type: ignore[no-any-return]


def resolved(value: Named, device: Any) -> Any:
    """The JAX object for a name: a dtype, a public object, an object of a public class, or the device itself."""
    import jax.numpy as jnp

    if value.kind == "device":
        return device
    if value.kind == "dtype":
        return jnp.dtype(value.name)
    if value.kind == PUBLIC:
        return _public(value.name)
    made = json.loads(value.name)
    return _public(made["class"])(**{name: _as_tuples(field) for name, field in made["fields"].items()})


def _public(name: str) -> Any:
    """The object with a dotted name: the longest part that is a module, then attributes."""
    parts = name.split(".")
    found: Any = import_module(parts[0])
    for place, part in enumerate(parts[1:], start=2):
        if not hasattr(found, part):
            import_module(".".join(parts[:place]))
        found = getattr(found, part)
    return found


def _as_tuples(tree: Any) -> Any:
    return tuple(map(_as_tuples, tree)) if isinstance(tree, list) else tree


def _of_its_dtype(array: Any, slot: Slot) -> Any:
    return array if slot.dtype is None else array.astype(slot.dtype)
