"""A case that expects a refusal is marked so: that it passes shows nothing of a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from protocol.enums import Ending, Placement, TimingPolicy, Verdict
from protocol.outcomes import Outcome
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from tests.frameworks.common.running import cases, each

REFUSALS: tuple[Callable[[], Exception], ...] = (
    lambda: ValueError("refused"),
    lambda: TypeError("refused"),
    lambda: AssertionError("refused"),
    lambda: tf.errors.InvalidArgumentError(None, None, "refused"),
)


def raising(error: Exception) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise error

    return refuse


def refuses_always(cpu: Device, outcome_of: Callable[..., Outcome], case: Case) -> bool:
    """Whether the case passes although its function never returned anything."""
    try:
        function = cpu.lookup(case.looked_up)
    except LookupError:
        return False
    ends = {"raised": 0, "returned": 0}

    def called(*arguments: Any, **options: Any) -> Any:
        ends["raised"] += 1
        result = function(*arguments, **options)
        ends["raised"] -= 1
        ends["returned"] += 1
        return result

    passed = outcome_of(cpu, dataclasses.replace(case, given=called)).ending is Ending.returned
    return passed and ends["raised"] > 0 == ends["returned"]


def passes_by_refusing(cpu: Device, outcome_of: Callable[..., Outcome], case: Case) -> bool:
    """Whether the case passes on a function that does nothing but raise."""
    return any(
        outcome_of(cpu, dataclasses.replace(case, given=raising(error()))).ending is Ending.returned
        for error in REFUSALS
    )


@each(case for case in cases(FRAMEWORK) if case.host_only is None)
def test_a_case_is_marked_if_it_passes_by_refusing(cpu: Device, outcome_of: Callable[..., Outcome], case: Case) -> None:
    if not case.refuses:
        assert not refuses_always(cpu, outcome_of, case)
        assert not passes_by_refusing(cpu, outcome_of, case)


@pytest.mark.parametrize("name", ["tf.data.Dataset.shard", "tf.random.gamma"])
def test_a_function_that_xla_refuses_succeeds_in_no_case_and_has_no_latency(
    xla: Device, outcome_of: Callable[..., Outcome], name: str
) -> None:
    """Each passed in one case, which expects an error: *partial*, and as fast as an error is raised."""
    refused = []
    for case in cases(FRAMEWORK):
        if case.function == name:
            outcome = outcome_of(xla, case, TimingPolicy.steady)
            if outcome.verdict is Verdict.passed:
                refused.append(case.id)
                assert case.refuses
                assert outcome.placement is Placement.unknown
                assert (outcome.timing.cold_ms, outcome.timing.samples_ms) == (None, [])
    assert len(refused) == 1
