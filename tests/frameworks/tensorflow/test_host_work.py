"""Work on the host is seen on tensorflow/xla as on every framework (``tests/frameworks/common/host_work.py``)."""

from __future__ import annotations

import pytest

from runners.suite.device import Device
from tests.frameworks.common.host_work_claims import (
    Tried,
    test_a_shared_honest_call_is_not_accused,
    test_a_shared_plant_is_seen,
)
from tests.frameworks.common.running import run
from tests.frameworks.tensorflow.operations import TensorFlowOperations

__all__ = ["test_a_shared_honest_call_is_not_accused", "test_a_shared_plant_is_seen"]


@pytest.fixture(scope="session")
def tried(xla: Device) -> Tried:
    operations = TensorFlowOperations()
    return lambda trial: run(xla, trial.case(operations, "tf.math.add"), trial.timing)
