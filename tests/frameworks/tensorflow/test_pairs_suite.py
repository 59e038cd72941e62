"""TensorFlow's suite ``pairs``: the tests of every such suite, and that both functions are one program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from freezing.tensorflow.pairs import PAIRS
from runners.errors import LeftOutError
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from runners.tensorflow.pairs import FrozenPair
from tests.frameworks.common import pairs
from tests.frameworks.common.pair_claims import (
    test_every_pair_is_right_on_the_cpu,
    test_it_has_hundreds_of_pairs_that_programs_have,
    test_its_catalogue_is_read_without_the_framework,
    test_its_files_are_small_and_count_what_is_left_out,
)


def test_the_first_function_is_called(cpu: Device) -> None:
    pairs.assert_the_first_function_is_called(cpu, FRAMEWORK, "tf.exp", "tf.math.log")


def test_a_device_that_compiles_takes_both_as_one_program(xla: Device) -> None:
    """The second function is called with a graph tensor: the result of the first function in the same graph."""
    origins = []

    def second(array: tf.Tensor) -> tf.Tensor:
        origins.append(array.op.type)
        return array + 1.0

    written = '{"tuple":[[{"array":1}],{"mapping":[]}],"first":["tf.exp",{"tuple":[[{"array":0}],{"mapping":[]}]}]}'
    program = xla.compiled(FrozenPair(written).program(second, xla.to_device([np.zeros(2)], "float32")))
    for _ in range(2):
        assert program().numpy().tolist() == [2.0, 2.0]
    assert origins == ["Exp"]


def test_a_pair_is_drawn_as_it_is_stored(cpu: Device, tmp_path: Path) -> None:
    pairs.assert_drawn_as_stored(PAIRS, "tf.multiply", "tf.add", tmp_path)


def test_only_an_eager_tensor_has_a_value_before_the_program_runs(cpu: Device) -> None:
    """Such a pair is excluded, because its second function returns None on every device that compiles."""
    first = '["tf.convert_to_tensor",{"tuple":[[{"array":0}],{"mapping":[]}]}]'
    written = f'{{"tuple":[[{{"array":1}}],{{"mapping":[]}}],"first":{first}}}'
    arrays = cpu.to_device([np.zeros(2)], "float32")
    with pytest.raises(LeftOutError):
        PAIRS.pair("tf.convert_to_tensor tf.get_static_value").require_program(written, arrays)
    PAIRS.pair("tf.convert_to_tensor tf.math.log").require_program(written, arrays)
