"""Replay on JAX: makes a recorded call, on the device and on the CPU in float64."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from protocol.enums import GRADIENT
from runners.errors import UntestedError
from runners.jax.devices import HostBeside
from runners.jax.frozen import MADE, PUBLIC, FrozenCall, resolved
from runners.jax.left_open import NOT_UNIQUE, OF_BITS, UNINITIALISED
from runners.jax.recordable import recordable, value_classes
from runners.jax.ways import gradient
from runners.jax.writing import KEY
from runners.suite.cases import Case, Context
from runners.suite.frozen import Named, Slot, decode
from runners.suite.recording import replay
from runners.suite.recording.reading import RecordedCall
from runners.suite.recording.replay import WAY, Openness, changed
from runners.suite.recording.rule import NO_FUNCTION

_WIDE = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}
_RANDOM = "jax.random."
"""The module whose functions draw other random numbers in a wider type."""


def case_of(call: RecordedCall) -> Case:
    """Return the case that makes a recorded call."""
    is_open = call.function in UNINITIALISED or call.function.rpartition(".")[2] in NOT_UNIQUE
    return replay.case_of(
        call,
        ReplayedCall(call.written),
        Openness(form_only=is_open),
        framework="jax",
        recordable=recordable(),
    )


@dataclass(frozen=True)
class ReplayedCall(FrozenCall):
    """Prepares a recorded call."""

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        return context.compiled(self._call(context.function, self.arguments(arrays, context.device)))

    def arguments(self, arrays: Sequence[Any], device: Any) -> Any:
        def leaf(slot: Slot) -> Any:
            array = arrays[slot.number]
            if slot.dtype is not None and slot.dtype.startswith(KEY):
                return jax.random.wrap_key_data(array, impl=slot.dtype[len(KEY) : -1])
            return array if slot.dtype is None else array.astype(slot.dtype)

        return decode(json.loads(self.written), leaf, lambda value: _harmless(value, device))

    def on_host(self, function: str, dtype: str, arrays: Sequence[Any], *, is_wide: bool) -> Any:
        host, is_wide = HostBeside(), is_wide and function not in OF_BITS and not function.startswith(_RANDOM)
        with host.scope("float64" if is_wide else dtype):
            parts = self.arguments(host.to_device(list(arrays), dtype), host.handle)
            return host.to_host(self._call(host.lookup(function), _widened(parts) if is_wide else parts)())

    def _call(self, function: Any, parts: Sequence[Any]) -> Callable[[], Any]:
        if json.loads(self.written).get(WAY) == GRADIENT:
            return partial(gradient, function, *parts)
        arguments, options = parts
        return partial(function, *arguments, **options)


def _harmless(value: Named, device: Any) -> Any:
    """Return the object for a name. Raise ``UntestedError`` unless it is a dtype, the device, or a member of a JAX
    enumeration or named tuple."""
    owner = value.name.rpartition(".")[0] if value.kind == PUBLIC else None
    if value.kind == MADE:
        owner = json.loads(value.name)["class"]
    if value.kind not in ("dtype", "device") and owner not in value_classes():
        raise UntestedError(f"{NO_FUNCTION}, as this one does: {value.name}")
    target = resolved(value, device)
    if value.kind == PUBLIC and not isinstance(target, enum.Enum):
        raise UntestedError(f"{NO_FUNCTION}, as this one does: {value.name}")
    return target


def _widened(tree: Any) -> Any:
    """Return the tree with every float as float64, and every complex number as complex128."""

    def wide(array: Any) -> Any:
        dtype = _WIDE.get(str(array.dtype))
        return array if dtype is None else array.astype(dtype)

    def wide_dtype(dtype: Any) -> Any:
        return jnp.dtype(_WIDE.get(dtype.name, dtype.name))

    return changed(changed(tree, wide, jax.Array), wide_dtype, jnp.dtype)
