"""Changes JAX's arrays for mutants, including traced arrays without values.

An array with values is changed by NumPy, because JAX would compile a program for each shape.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.api import VJP

from tests.frameworks.common.mutants import STEP, UNCHANGED

ANOTHER_DTYPE: Mapping[str, str] = {
    "float64": "float32",
    "float32": "float16",
    "float16": "bfloat16",
    "bfloat16": "float32",
    "complex128": "complex64",
    "complex64": "float32",
    "int64": "int32",
    "int32": "int16",
    "uint32": "int32",
    "bool": "uint8",
}
"""Other dtypes, for the mutant that changes the dtype. 64 bits are excluded, because JAX has them only on request. Two
real dtypes are never each other's replacement: a case that calls its function twice would detect nothing."""


class JaxArrays:
    functions = (VJP, type(jax.jit(lambda: None)))

    def is_array(self, value: Any) -> bool:
        return isinstance(value, (jax.Array, np.ndarray, np.generic))

    def off(self, array: Any) -> Any:
        if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
            data = self.off(jax.random.key_data(array))
            return jax.random.wrap_key_data(data, impl=jax.random.key_impl(array))
        if not array.size:
            return UNCHANGED
        xp, values = _with(array)
        flat = xp.reshape(values, -1)
        kind = _kind(array)
        if kind in "bi":
            index, wrong = 0, ~flat if kind == "b" else flat + 1
        elif kind in "fc":
            sizes = xp.where(xp.isfinite(flat), xp.abs(flat), -1)
            index = xp.argmax(sizes)
            if xp is np and sizes[index] < 0:
                return UNCHANGED
            step = STEP.get(str(array.dtype), 0.01)
            wrong = xp.where(flat == 0, step, flat * (1 + step))
        else:
            return UNCHANGED
        one_off = xp.where(xp.arange(flat.size) == index, wrong, flat)
        return _like(array, xp.reshape(one_off.astype(array.dtype), array.shape))

    def retype(self, array: Any) -> Any:
        if _kind(array) not in "bifc":
            return UNCHANGED
        _, values = _with(array)
        return _like(array, values.astype(jnp.dtype(ANOTHER_DTYPE.get(str(array.dtype), "int32"))))

    def differ(self, argument: Any, result: Any) -> bool:
        if isinstance(argument, jax.core.Tracer) or isinstance(result, jax.core.Tracer):
            return False
        if argument.shape != result.shape or argument.dtype != result.dtype:
            return False
        one, other = (np.asarray(_data(value)) for value in (argument, result))
        return not bool(((one == other) | ((one != one) & (other != other))).all())

    def make_unfilled(self, array: Any) -> Any:
        return UNCHANGED

    def load_dice(self, array: Any) -> Any:
        if array.size < 10:
            return UNCHANGED
        xp, values = _with(array)
        flat = xp.reshape(values, -1)
        with_smallest = xp.where(xp.arange(flat.size) % 10 == 0, flat.min(), flat)
        return _like(array, xp.reshape(with_smallest.astype(array.dtype), array.shape))

    def clobber(self, array: Any) -> bool:
        """Write into the array. JAX does not allow this, but a program that reuses the wrong buffer would do it."""
        if isinstance(array, jax.core.Tracer) or not self.is_array(array) or not array.size or _kind(array) == "other":
            return False
        values = np.asarray(array)
        first = values.reshape(-1)[:1]
        other = np.where(first == 0, 1, 0).astype(values.dtype)
        place = values.ctypes.data
        if not isinstance(array, jax.Array) or place == array.unsafe_buffer_pointer():
            ctypes.memmove(place, other.ctypes.data, other.nbytes)
            return True
        return False

    def zero(self, array: Any) -> Any:
        if _kind(array) == "other" or isinstance(array, jax.core.Tracer) or not np.asarray(array).any():
            return UNCHANGED
        return _like(array, np.zeros_like(np.asarray(array)))

    def map_container(self, value: Any, change: Callable[[Any], Any]) -> Any:
        return UNCHANGED


def _kind(array: Any) -> str:
    for kind, parent in (("b", jnp.bool_), ("i", jnp.integer), ("f", jnp.floating), ("c", jnp.complexfloating)):
        if jnp.issubdtype(array.dtype, parent):
            return kind
    return "other"


def _with(array: Any) -> tuple[Any, Any]:
    """Who computes with it, and its values."""
    return (jnp, array) if isinstance(array, jax.core.Tracer) else (np, np.asarray(array))


def _like(array: Any, values: Any) -> Any:
    """On the device where the array was, committed to it or not."""
    if not isinstance(array, jax.Array) or isinstance(array, jax.core.Tracer):
        return values
    return jax.device_put(values, array.sharding)


def _data(array: Any) -> Any:
    return jax.random.key_data(array) if _kind(array) == "other" else array


ARRAYS = JaxArrays()
