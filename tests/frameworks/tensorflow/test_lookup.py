"""A function is found by the name with which users call it, even if other parts of the package have this name."""

from __future__ import annotations

import pytest
import tensorflow as tf

from runners.suite.device import Device


def test_a_folder_of_the_package_hides_no_module_of_the_api(cpu: Device) -> None:
    assert cpu.lookup("tf.distribute.InputContext") is tf.distribute.InputContext


def test_a_name_is_the_same_with_either_first_word(cpu: Device) -> None:
    assert cpu.lookup("tf.math.add") is cpu.lookup("tensorflow.math.add") is tf.math.add


def test_what_the_api_does_not_name_is_found_by_import(cpu: Device) -> None:
    assert cpu.lookup("tensorflow.python.ops.script_ops.FuncRegistry").__name__ == "FuncRegistry"


def test_a_name_that_is_gone_is_named_as_it_was_asked_for(cpu: Device) -> None:
    with pytest.raises(LookupError, match=rf"tensorflow {tf.__version__} has no tf\.contrib\.layers"):
        cpu.lookup("tf.contrib.layers")
