"""A TensorFlow case that expects an error is marked as a refusal, because its pass shows nothing about a device."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol.enums import Placement, TimingPolicy, Verdict
from protocol.outcomes import Outcome
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from tests.frameworks.common.refusal_claims import test_a_case_is_marked_as_a_refusal_if_it_is_one
from tests.frameworks.common.running import cases


@pytest.mark.parametrize("name", ["tf.data.Dataset.shard", "tf.random.gamma"])
def test_a_function_that_xla_refuses_succeeds_in_no_case_and_has_no_latency(
    xla: Device, outcome_of: Callable[..., Outcome], name: str
) -> None:
    """Without this rule each function would pass one case, which expects an error: it would be *partial*, and as fast
    as an error is raised."""
    refused_ids = []
    for case in cases(FRAMEWORK):
        if case.function == name:
            outcome = outcome_of(xla, case, TimingPolicy.steady)
            if outcome.verdict is Verdict.passed:
                refused_ids.append(case.id)
                assert case.refuses
                assert outcome.placement is Placement.unknown
                assert (outcome.timing.cold_ms, outcome.timing.samples_ms) == (None, [])
    assert len(refused_ids) == 1
