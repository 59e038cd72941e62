"""Every torch defect in the documentation still exists in the version that the documentation names."""

from __future__ import annotations

from runners.suite.device import Device
from tests.frameworks.common.defects import Defect, assert_there, each_of


@each_of("torch on XLA")
def test_a_listed_defect_is_there(xla: Device, defect: Defect) -> None:
    assert_there(defect)


@each_of("torch on the CPU")
def test_a_listed_defect_of_the_cpu_is_there(defect: Defect) -> None:
    assert_there(defect)
