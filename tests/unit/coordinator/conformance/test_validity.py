"""Which outcomes the check of a runner accepts, given the job."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.conformance.cases import CheckJob, read_cases
from coordinator.conformance.validity import find_fault

(CASE,) = read_cases({"suites": [{"name": "library", "revision": "1", "cases": [{"id": "torch.add/1", "tags": []}]}]})
JOB = CheckJob({"id": 1, "attempt": 1, "timing": "steady", "timeout_s": 60.0}, CASE)


def outcome(**members: Any) -> dict[str, Any]:
    timing = {"cold_ms": 1.0, "samples_ms": []}
    return {"verdict": "passed", "ending": "returned", "duration_s": 1.0, "timing": timing, **members}


@pytest.mark.parametrize(
    "members",
    [
        {"placement": "fell_back", "proof": {"fallbacks": {"aten::add": 1}}},
        {"placement": "unknown", "proof": {"unproven": "nothing_executed"}},
        {"placement": "on_device", "evidence": {"stage": "samples", "reason": "there was no time for samples"}},
        {"placement": "on_device", "timing": {"cold_ms": 1.0, "samples_ms": [0.1]}},
    ],
)
def test_an_outcome_needs_no_samples_of_the_hosts_work_and_none_without_time(members: dict[str, Any]) -> None:
    assert find_fault(outcome(**members), JOB, 1.0) is None


@pytest.mark.parametrize(
    "members", [{"placement": "on_device"}, {"placement": "unknown", "proof": {"unproven": "nobody_looked"}}]
)
def test_every_other_outcome_that_returned_has_samples(members: dict[str, Any]) -> None:
    assert "there are neither samples_ms nor evidence" in (find_fault(outcome(**members), JOB, 1.0) or "")
