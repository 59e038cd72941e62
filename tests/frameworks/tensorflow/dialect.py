"""The functions on TensorFlow's tensors that the operators of the mutation score need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import record

from tests.frameworks.common.mutants import STEP, UNCHANGED


class TensorFlowDialect:
    def values(self, array: Any) -> np.ndarray | None:
        if isinstance(array, (np.ndarray, np.generic)):
            return np.asarray(array)
        if not hasattr(array, "numpy") or not _is_number(array.dtype):
            return None
        values = np.asarray(array.numpy())
        return values.astype(np.float32) if array.dtype == tf.bfloat16 else values

    def like(self, array: Any, values: np.ndarray) -> Any:
        if isinstance(array, (np.ndarray, np.generic)):
            return values.astype(array.dtype)
        wrong = tf.cast(tf.constant(np.ascontiguousarray(values)), array.dtype)
        return array + (wrong - tf.stop_gradient(array)) if _is_recorded(array) else wrong

    def gradient_off(self, array: Any, note: Callable[[], None]) -> Any:
        if not _is_recorded(array):
            return array

        @tf.custom_gradient
        def same(value: Any) -> Any:
            def off(gradient: Any) -> Any:
                note()
                return gradient * tf.cast(1 + STEP.get(gradient.dtype.name, 0.01), gradient.dtype)

            return tf.identity(value), off

        return same(array)

    def detach(self, array: Any) -> Any:
        return tf.stop_gradient(array) if _is_recorded(array) else UNCHANGED

    def copy(self, array: Any) -> Any:
        return array

    def clobber(self, array: Any) -> bool:
        return False


def _is_number(dtype: tf.DType) -> bool:
    return bool(dtype.is_bool or dtype.is_integer or dtype.is_floating or dtype.is_complex)


def _is_recorded(array: Any) -> bool:
    floats = isinstance(array, tf.Tensor) and (array.dtype.is_floating or array.dtype.is_complex)
    return floats and bool(record.should_record_backprop([array]))


DIALECT = TensorFlowDialect()
