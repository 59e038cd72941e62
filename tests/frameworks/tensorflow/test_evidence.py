"""After a failure, the operation in flight and its kernels are read from TensorFlow's tables, not from error
messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from protocol.enums import Kernels
from runners.suite.device import Explaining, Operation

MATRIX = tf.constant([[2.0, 0.5], [0.5, 3.0]])
HALF = tf.constant(2, tf.float16)


def failing(device: Any, call: Callable[[], Any]) -> Operation | None:
    explaining: Explaining = device
    with device.scope("float32"):
        return explaining.failing(device.compiled(call))


@pytest.mark.parametrize(
    ("call", "name", "dtypes", "kernels"),
    [
        (lambda: tf.linalg.eig(MATRIX), "Eig", ("float32",), Kernels.none),
        (lambda: tf.map_fn(tf.linalg.eigvals, MATRIX[None], fn_output_signature=tf.complex64), "Eig", ("float32",),
         Kernels.none),
        (lambda: tf.linalg.svd(tf.cast(MATRIX, tf.complex64)), "Svd", ("complex64",), Kernels.other_dtypes),
        (lambda: tf.strings.as_string(MATRIX), "AsString", ("float32",), Kernels.none),
        (lambda: tf.numpy_function(lambda value: value, [MATRIX], tf.float32), "PyFunc", ("float32",), Kernels.none),
        (lambda: tf.identity(tf.constant(["a", "b"])), "Identity", ("string",), Kernels.other_dtypes),
        (lambda: tf.range(HALF, 60, 2), "Range", ("float16",) * 3, Kernels.this_dtype),
    ],
)  # fmt: skip
def test_of_a_compiled_function_the_operation_without_a_kernel(
    xla: Any, call: Callable[[], Any], name: str, dtypes: tuple[str, ...], kernels: Kernels
) -> None:
    operation = failing(xla, call)
    assert operation is not None
    assert (operation.name, operation.dtypes, operation.kernels) == (name, dtypes, kernels)


@pytest.mark.parametrize(
    ("call", "name", "dtypes", "kernels", "kernel"),
    [
        (lambda: tf.linalg.svd(tf.cast(MATRIX, tf.float16)), "Svd", ("float16",), Kernels.other_dtypes, "float32"),
        (lambda: tf.bitwise.invert(MATRIX), "Invert", ("float32",), Kernels.other_dtypes, "int32"),
        (lambda: tf.linalg.matmul(MATRIX, tf.ones((3, 3))), "MatMul", ("float32", "float32"), Kernels.this_dtype, None),
    ],
)
def test_the_operation_that_fails_on_its_own(
    cpu: Any, call: Callable[[], Any], name: str, dtypes: tuple[str, ...], kernels: Kernels, kernel: str | None
) -> None:
    operation = failing(cpu, call)
    assert operation is not None
    assert (operation.name, operation.dtypes, operation.kernels) == (name, dtypes, kernels)
    assert kernel is None or kernel in operation.kernel_dtypes


def test_an_operation_that_went_well_is_not_blamed_for_what_python_raises_after_it(cpu: Any) -> None:
    assert failing(cpu, lambda: [tf.abs(MATRIX), {}["missing"]]) is None


def test_an_operation_whose_failure_was_handled_is_not_blamed(cpu: Any) -> None:
    def call() -> Any:
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.linalg.matmul(MATRIX, tf.ones((3, 3)))
        return tf.linalg.svd(tf.cast(MATRIX, tf.float16))

    operation = failing(cpu, call)
    assert operation is not None
    assert operation.name == "Svd"


def test_a_call_that_does_not_fail_again_names_nothing_and_leaves_no_watch(cpu: Any) -> None:
    before = tf.raw_ops.MatMul, tf.linalg.matmul(MATRIX, MATRIX)
    assert failing(cpu, lambda: tf.linalg.matmul(MATRIX, MATRIX)) is None
    assert bool(tf.reduce_all(before[1] == tf.linalg.matmul(MATRIX, MATRIX)))
