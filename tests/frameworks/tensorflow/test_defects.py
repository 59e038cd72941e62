"""Every TensorFlow defect in the documentation still exists in the version that the documentation names."""

from __future__ import annotations

from tests.frameworks.common.defects import Defect, assert_there, each_of


@each_of("TensorFlow")
def test_a_listed_defect_is_there(defect: Defect) -> None:
    assert_there(defect)
