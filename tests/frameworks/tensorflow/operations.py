"""TensorFlow's operations, compiled by XLA, for the calls of ``tests/frameworks/common/host_work.py``."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf


def _compile(function: Callable[..., Any]) -> Any:
    return tf.function(function, jit_compile=True, autograph=False)


def _copied_out(x: Any) -> Any:
    room = np.empty(x.shape, x.dtype.as_numpy_dtype)
    np.copyto(room, x)
    return room


def _text(x: Any) -> Any:
    numbers = re.findall(r"-?\d+\.\d*(?:e[-+]?\d+)?", repr(x).partition("numpy=")[2])
    return np.array([float(number) for number in numbers])


class TensorFlowOperations:
    """Operations on the XLA device. Uncompiled operations run outside of the device, so even a single number is picked
    by a compiled function."""

    reads: ClassVar[dict[str, Callable[[Any], Any]]] = {
        "NumPy": lambda x: x.numpy(),
        "list": lambda x: np.array(x.numpy().tolist()),
        "NumPy's own array": lambda x: np.array(x),
        "a function of NumPy": lambda x: np.positive(x),
        "bytes": lambda x: np.frombuffer(bytes(memoryview(x)), "float32"),
        "a buffer": lambda x: np.frombuffer(x, "float32"),
        "dlpack": lambda x: np.from_dlpack(_Capsule(x)),
        "a copy into the host": _copied_out,
        "pickle": lambda x: np.asarray(pickle.loads(pickle.dumps(x))),
        "text": _text,
    }

    def double(self, x: Any) -> Any:
        return _double(x)

    def add(self, x: Any, y: Any) -> Any:
        return _add(x, y)

    def scale(self, x: Any, number: float) -> Any:
        return _scale(x, np.float32(number))

    def total(self, x: Any) -> Any:
        return _total(x)

    def entry(self, x: Any, place: int) -> Any:
        return x[place]

    def entries(self, x: Any) -> list[Any]:
        return list(x)

    def apart(self, x: Any) -> list[Any]:
        return list(_apart(x))

    def first(self, x: Any, count: int) -> list[Any]:
        return [_entry(x, place) for place in range(count)]

    def join(self, numbers: list[Any]) -> Any:
        return _join(numbers)

    def array(self, values: Any) -> Any:
        return tf.constant(values, tf.float32)

    def flags(self, x: Any) -> Any:
        return _flags(x)

    def places(self, x: Any) -> Any:
        return _places(x)

    def take(self, x: Any, places: list[int]) -> Any:
        return _take(x, np.array(places, "int32"))

    def newton(self, x: Any) -> Any:
        return _newton(x)

    def elsewhere(self, x: Any) -> Any:
        return x + x

    def called_back(self, function: Callable[[Any], Any], x: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(function, [x], tf.float32), x.shape)

    def gradient(self, x: Any) -> Any:
        return _gradient(x)

    def choose(self, x: Any) -> Any:
        return _chosen(x)


class _Capsule:
    """NumPy asks the array for its DLPack capsule and device, for which TensorFlow has separate functions."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __dlpack__(self, **options: Any) -> Any:
        return tf.experimental.dlpack.to_dlpack(self._x)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _squares(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(x * x)
    return tape.gradient(total, x)


_double = _compile(lambda x: x + x)
_add = _compile(lambda x, y: x + y)
_scale = _compile(lambda x, number: x * number)
_total = _compile(tf.reduce_sum)
_entry = _compile(lambda x, place: x[place])
_apart = _compile(tf.unstack)
_join = _compile(tf.stack)
_flags = _compile(lambda x: x == x)
_places = _compile(lambda x: tf.range(tf.size(x)) + tf.cast(x[0] * 0, tf.int32))
_take = _compile(tf.gather)
_newton = _compile(lambda x: (x + 4 / x) / 2)
_gradient = _compile(_squares)
_chosen = _compile(lambda x: tf.where(x == x, 2 * x, tf.zeros_like(x)))
