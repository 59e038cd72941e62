"""JAX's suite ``pairs``: the tests of every such suite, and that both functions are called."""

from __future__ import annotations

from pathlib import Path

from freezing.jax.pairs import PAIRS
from runners.jax import FRAMEWORK
from runners.suite.device import Device
from tests.frameworks.common import pairs
from tests.frameworks.common.pair_claims import (
    test_every_pair_is_right_on_the_cpu,
    test_it_has_hundreds_of_pairs_that_programs_have,
    test_its_catalogue_is_read_without_the_framework,
    test_its_files_are_small_and_count_what_is_left_out,
)


def test_the_first_function_is_called(cpu: Device) -> None:
    pairs.assert_the_first_function_is_called(cpu, FRAMEWORK, "jax.numpy.exp", "jax.numpy.log")


def test_a_pair_is_drawn_as_it_is_stored(cpu: Device, tmp_path: Path) -> None:
    pairs.assert_drawn_as_stored(PAIRS, "jax.numpy.multiply", "jax.Array.sum", tmp_path)
