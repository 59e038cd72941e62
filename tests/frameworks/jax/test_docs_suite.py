"""JAX's suite ``docs`` is complete and right on the CPU, and its examples leave the process unchanged."""

from __future__ import annotations

from typing import Any

import jax
import pytest

from runners.jax import FRAMEWORK
from runners.suite.cases import Function
from runners.suite.checks import Expected
from runners.suite.device import Device
from tests.frameworks.common import docs
from tests.frameworks.common.docs_claims import (
    test_an_example_with_another_value_is_noticed,
    test_every_example_is_right_on_the_cpu,
    test_every_function_says_whether_it_is_compared,
    test_every_public_name_is_charted_or_left_out_with_a_reason,
    test_the_catalogue_is_read_without_the_framework,
    test_the_files_are_small_and_name_their_release,
    test_what_is_left_out_is_counted_by_its_reason,
)


@pytest.fixture(scope="module")
def functions() -> list[Function]:
    return docs.functions_of(FRAMEWORK)


@pytest.mark.parametrize(
    ("turning", "asking", "as_it_comes"),
    [
        (["jax.config.update('jax_enable_x64', True)"], "jnp.asarray(1.5)", Expected(1.5, "float32")),
        (["jax.config.update('jax_debug_nans', True)"], "jax.config.jax_debug_nans", False),
        (["jax.config.update('jax_disable_jit', True)"], "jax.config.jax_disable_jit", False),
    ],
)
def test_an_example_that_turns_a_setting_does_not_hurt_the_next(
    cpu: Device, functions: list[Function], turning: list[str], asking: str, as_it_comes: Any
) -> None:
    docs.assert_settings_do_not_reach_the_next(cpu, functions, turning, asking, as_it_comes)
    # Outside of a case, where no scope of ours holds another value over the process's.
    assert (jax.config.jax_enable_x64, jax.config.jax_debug_nans, jax.config.jax_disable_jit) == (False, False, False)
