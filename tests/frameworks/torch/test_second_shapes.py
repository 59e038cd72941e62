"""Second shapes on torch: which functions have such a case, and which errors it detects."""

from __future__ import annotations

from runners.suite.device import Device
from runners.torch import FRAMEWORK
from tests.frameworks.common import second_shapes
from tests.frameworks.common.second_shape_claims import test_hundreds_of_functions_have_a_second_shape


def test_a_shape_kept_from_the_first_call_is_noticed(cpu: Device) -> None:
    second_shapes.assert_a_kept_shape_is_noticed(cpu, FRAMEWORK, "torch.exp")
