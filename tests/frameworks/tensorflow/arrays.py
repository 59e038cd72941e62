"""Changes TensorFlow's eager and graph tensors, and objects made from them, for mutants."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tests.frameworks.common.mutants import STEP, UNCHANGED

ANOTHER_DTYPE: Mapping[str, str] = {
    "float32": "float64",
    "float64": "bfloat16",
    "bfloat16": "float16",
    "float16": "float32",
    "complex64": "complex128",
    "complex128": "complex64",
    "bool": "uint8",
    "int64": "int32",
}
"""Other dtypes, for the mutant that changes the dtype. Two real dtypes are never each other's replacement: a case that
calls its function twice would detect nothing."""


@dataclass
class Rows:
    """A data set as a whole, in addition to its arrays: a missing row is an error as well."""

    dataset: Any


class TensorFlowArrays:
    functions = (type(tf.function(lambda: None)),)

    def is_array(self, value: Any) -> bool:
        return isinstance(value, (tf.Tensor, tf.Variable, np.ndarray, np.generic, Rows))

    def off(self, array: Any) -> Any:
        if isinstance(array, Rows):
            return Rows(array.dataset.skip(1))
        kind = _kind(array)
        if array.shape.rank is not None and 0 in array.shape.as_list() if _is_ours(array) else not array.size:
            return UNCHANGED
        if not _is_ours(array):
            wrong = self.off(tf.constant(array))
            return wrong if wrong is UNCHANGED else wrong.numpy()
        array = tf.convert_to_tensor(array)
        flat = tf.reshape(array, [-1])
        index = tf.constant(0, tf.int64)
        if kind == "b":
            wrong = tf.logical_not(flat)
        elif kind == "i":
            wrong = flat + tf.ones((), flat.dtype)
        elif kind == "s":
            wrong = tf.strings.join([flat, "'"])
        elif kind in ("f", "c"):
            sizes = tf.cast(tf.abs(flat), tf.float64)
            sizes = tf.where(tf.math.is_finite(sizes), sizes, tf.constant(-1.0, tf.float64))
            index = tf.argmax(sizes)
            if _has_values(sizes) and sizes.numpy().max() < 0:
                return UNCHANGED
            step = STEP.get(array.dtype.name, 0.01)
            wrong = tf.where(tf.equal(flat, 0), tf.cast(step, flat.dtype), flat * tf.cast(1 + step, flat.dtype))
        else:
            return UNCHANGED
        # Not ==, which within a graph compares the objects.
        values = tf.where(tf.equal(tf.range(tf.size(flat, tf.int64)), index), wrong, flat)
        return _reshape(values, array)

    def retype(self, array: Any) -> Any:
        if isinstance(array, Rows) or _kind(array) not in ("b", "i", "f", "c"):
            return UNCHANGED
        if not _is_ours(array):
            return array.astype(ANOTHER_DTYPE.get(str(array.dtype), "int64"))
        return tf.cast(array, ANOTHER_DTYPE.get(array.dtype.name, "int64"))

    def differ(self, argument: Any, result: Any) -> bool:
        if not (_has_values(argument) and _has_values(result)):
            return False
        if argument.shape != result.shape or argument.dtype != result.dtype:
            return False
        one, other = (np.asarray(value) for value in (argument, result))
        return not bool(np.asarray((one == other) | ((one != one) & (other != other))).all())

    def make_unfilled(self, array: Any) -> Any:
        return UNCHANGED

    def load_dice(self, array: Any) -> Any:
        if not _is_ours(array) or array.shape.num_elements() is None or array.shape.num_elements() < 10:
            return UNCHANGED
        flat = tf.reshape(array, [-1])
        tenth = tf.equal(tf.range(tf.size(flat)) % 10, 0)
        return _reshape(tf.where(tenth, tf.reduce_min(flat), flat), array)

    def clobber(self, array: Any) -> bool:
        """Write into the tensor. TensorFlow does not allow this, but a kernel that forwards the wrong buffer would do
        it."""
        if isinstance(array, tf.Variable) or not self.is_array(array) or isinstance(array, Rows):
            return False
        if not _has_values(array) or _kind(array) not in ("b", "i", "f", "c"):
            return False
        values = array._numpy() if _is_ours(array) else np.asarray(array)
        if not values.size or not values.ndim:
            # TensorFlow keeps one tensor for every use of a number.
            return False
        other = np.where(values.reshape(-1)[:1] == 0, 1, 0).astype(values.dtype)
        ctypes.memmove(values.ctypes.data, other.ctypes.data, other.nbytes)
        return True

    def zero(self, array: Any) -> Any:
        if isinstance(array, Rows) or _kind(array) not in ("b", "i", "f", "c"):
            return UNCHANGED
        if _has_values(array) and not np.asarray(array).any():
            return UNCHANGED
        return tf.zeros_like(array) if _is_ours(array) else np.zeros_like(array)

    def map_container(self, value: Any, change: Callable[[Any], Any]) -> Any:
        if isinstance(value, tf.RaggedTensor):
            return value.with_flat_values(change(value.flat_values))
        if isinstance(value, tf.SparseTensor):
            return tf.SparseTensor(change(value.indices), change(value.values), value.dense_shape)
        if isinstance(value, tf.IndexedSlices):
            return tf.IndexedSlices(change(value.values), change(value.indices), value.dense_shape)
        if isinstance(value, tf.TensorShape):
            return value if value.rank is None else tf.TensorShape([change(size) for size in value.as_list()])
        if isinstance(value, tf.data.Dataset):
            if _has_values(value.cardinality()) and value.cardinality().numpy() == 0:
                return value
            rows = change(Rows(value)).dataset
            return rows.map(lambda *members: change(members if len(members) > 1 else members[0]))
        return UNCHANGED


def _is_ours(array: Any) -> bool:
    return isinstance(array, (tf.Tensor, tf.Variable))


def _has_values(array: Any) -> bool:
    return hasattr(array, "numpy") if _is_ours(array) else True


def _kind(array: Any) -> str:
    dtype = tf.as_dtype(array.dtype)
    if dtype.is_bool:
        return "b"
    if dtype.is_integer:
        return "i"
    if dtype.is_floating:
        return "f"
    if dtype.is_complex:
        return "c"
    return "s" if dtype == tf.string else ""


def _reshape(flat: Any, array: Any) -> Any:
    result = tf.reshape(flat, tf.shape(array))
    result.set_shape(array.shape)
    return result


ARRAYS = TensorFlowArrays()
