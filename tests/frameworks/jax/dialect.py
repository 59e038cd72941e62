"""The functions on JAX's arrays that the operators of the mutation score need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.frameworks.common.mutants import STEP, UNCHANGED


class JaxDialect:
    def values(self, array: Any) -> np.ndarray | None:
        if isinstance(array, jax.core.Tracer) or jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
            return None
        values = np.asarray(array)
        return values.astype(np.float32) if array.dtype == jnp.bfloat16 else values

    def like(self, array: Any, values: np.ndarray) -> Any:
        wrong = values.astype(array.dtype)
        return jax.device_put(wrong, array.sharding) if isinstance(array, jax.Array) else wrong

    def gradient_off(self, array: Any, note: Callable[[], None]) -> Any:
        if not _is_differentiated(array) or not jnp.issubdtype(array.dtype, jnp.inexact):
            return array

        @jax.custom_jvp
        def same(value: Any) -> Any:
            return value

        @same.defjvp
        def off(values: Any, tangents: Any) -> Any:
            note()
            dtype = tangents[0].dtype
            return values[0], tangents[0] * jnp.asarray(1 + STEP.get(str(dtype), 0.01), dtype)

        return same(array)

    def detach(self, array: Any) -> Any:
        return jax.lax.stop_gradient(array) if _is_differentiated(array) else UNCHANGED

    def copy(self, array: Any) -> Any:
        return array

    def clobber(self, array: Any) -> bool:
        return False


def _is_differentiated(array: Any) -> bool:
    return isinstance(array, jax.core.Tracer) and type(array).__name__ in ("JVPTracer", "LinearizeTracer")


DIALECT = JaxDialect()
