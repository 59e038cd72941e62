"""JAX's operations for the calls of ``tests/frameworks/common/host_work.py``."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from tests.frameworks.common.host_work import ArrayOperators


def _copied_out(x: Any) -> Any:
    room = np.empty(x.shape, x.dtype)
    np.copyto(room, x)
    return room


class JaxOperations(ArrayOperators):
    """Operations on the second of two devices, on which arrays are created by default (``second.py``)."""

    reads: ClassVar[dict[str, Callable[[Any], Any]]] = {
        "NumPy": np.asarray,
        "list": lambda x: np.array(x.tolist()),
        "NumPy's own array": lambda x: np.array(x),
        "a function of NumPy": lambda x: np.positive(x),
        "bytes": lambda x: np.frombuffer(bytes(x), "float32"),
        "a buffer": lambda x: np.frombuffer(x, "float32"),
        "dlpack": np.from_dlpack,
        "a copy into the host": _copied_out,
        "pickle": lambda x: np.asarray(pickle.loads(pickle.dumps(x))),
        "text": lambda x: np.array([float(number) for number in re.findall(r"-?\d+\.\d*(?:e[-+]?\d+)?", repr(x))]),
    }

    def double(self, x: Any) -> Any:
        return _double(x)

    def apart(self, x: Any) -> list[Any]:
        return list(jnp.unstack(x))

    def join(self, numbers: list[Any]) -> Any:
        return jnp.stack(numbers)

    def array(self, values: Any) -> Any:
        return jnp.asarray(values, jnp.float32)

    def places(self, x: Any) -> Any:
        return jnp.arange(x.size) + (x[0] * 0).astype(int)

    def take(self, x: Any, places: list[int]) -> Any:
        return x[np.array(places)]

    def elsewhere(self, x: Any) -> Any:
        first, second = jax.devices()
        return jax.device_put(_double(jax.device_put(x, first)), second)

    def called_back(self, function: Callable[[Any], Any], x: Any) -> Any:
        return jax.pure_callback(function, x, x)

    def gradient(self, x: Any) -> Any:
        return jax.grad(lambda values: (values * values).sum())(x)

    def choose(self, x: Any) -> Any:
        return jnp.where(x == x, 2 * x, 0)


_double = jax.jit(lambda x: x + x)
