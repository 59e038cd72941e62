"""Second shapes on TensorFlow: which functions have such a case, and which errors it detects."""

from __future__ import annotations

import tensorflow as tf

from runners.suite.cases import Context
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from tests.frameworks.common import second_shapes
from tests.frameworks.common.second_shape_claims import test_hundreds_of_functions_have_a_second_shape


def test_a_shape_kept_from_the_first_call_is_noticed(cpu: Device) -> None:
    second_shapes.assert_a_kept_shape_is_noticed(cpu, FRAMEWORK, "tf.acos")


def test_a_shape_kept_by_one_compiled_function_is_noticed(xla: Device) -> None:
    """One function of the user is traced with both shapes. The arrays are its arguments."""
    second_shapes.assert_a_kept_shape_is_noticed(xla, FRAMEWORK, "tf.acos")
    (case,) = second_shapes.cases_of(FRAMEWORK, "tf.acos")
    context = Context(tf.acos, xla.handle, "xla", tf.float32, to_device=lambda tree: tree, compiled=xla.compiled)
    arrays = xla.to_device(case.arguments(case.inputs()), "float32")
    call = case.prepare(context, *arrays)
    call()
    assert call.func.experimental_get_tracing_count() == 2  # type: ignore[attr-defined]
