"""Second shapes on JAX: which functions have such a case, and which errors it detects."""

from __future__ import annotations

import jax

from runners.jax import FRAMEWORK
from runners.suite.cases import Context
from runners.suite.device import Device
from tests.frameworks.common import second_shapes
from tests.frameworks.common.second_shape_claims import test_hundreds_of_functions_have_a_second_shape


def test_a_shape_kept_from_the_first_call_is_noticed(cpu: Device) -> None:
    second_shapes.assert_a_kept_shape_is_noticed(cpu, FRAMEWORK, "jax.numpy.exp")


def test_a_function_that_takes_jit_has_one_program_for_both_shapes(cpu: Device) -> None:
    (case,) = second_shapes.cases_of(FRAMEWORK, "jax.numpy.exp")
    context = Context(jax.numpy.exp, cpu.handle, "cpu", jax.numpy.float32, to_device=lambda tree: tree)
    arrays = cpu.to_device(case.arguments(case.inputs()), "float32")
    # Programs of the same function that other tests left in the process would count, too.
    jax.clear_caches()
    call = case.prepare(context, *arrays)
    call()
    assert call.func._cache_size() == 2  # type: ignore[attr-defined]
