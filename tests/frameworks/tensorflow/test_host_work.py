"""Work on the host is detected on tensorflow/xla, with the calls that all frameworks share
(``tests/frameworks/common/host_work.py``)."""

from __future__ import annotations

from tests.frameworks.common.host_work_claims import (
    test_a_shared_honest_call_is_not_accused,
    test_a_shared_plant_is_seen,
    try_out,
)
