"""A runner's claim that a case ran on its device is accepted only if the runner's proof supports it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coordinator.dispatch.finishes import FinishedJob
from coordinator.dispatch.leases import Key
from coordinator.dispatch.records import record
from protocol.enums import Ending, Placement, Unproven, Verdict
from protocol.outcomes import Outcome, PlacementProof

CLAIMED = Placement.on_device


def finished_job(placement: Placement, device: str, **proof: Any) -> FinishedJob:
    outcome = Outcome(
        verdict=Verdict.passed,
        ending=Ending.returned,
        placement=placement,
        proof=PlacementProof(devices=[f"{device}:0"], **proof),
        duration_s=0.1,
    )
    return record(Key("1", 1), outcome, framework="torch", device=device)


@pytest.mark.parametrize(
    ("proof", "expected_placement", "why"),
    [
        ({"executed": 3}, Placement.on_device, None),
        ({"executed": 0}, Placement.unknown, Unproven.nothing_executed),
        ({}, Placement.unknown, Unproven.executions_not_counted),
        ({"executed": 3, "fallbacks": {"aten::sort": 1}}, Placement.fell_back, None),
    ],
)
def test_a_claim_without_an_execution_is_unknown_and_says_why(
    proof: dict[str, Any], expected_placement: Placement, why: Unproven | None
) -> None:
    row = finished_job(CLAIMED, "cuda", **proof)
    assert row.placement == expected_placement
    assert json.loads(row.proof).get("unproven") == why


def test_the_host_needs_no_proof_of_itself() -> None:
    assert finished_job(CLAIMED, "cpu").placement == Placement.on_device


@pytest.mark.parametrize("placement", [Placement.fell_back, Placement.host_only, Placement.unknown])
def test_no_other_placement_is_changed(placement: Placement) -> None:
    assert finished_job(placement, "cuda", executed=3).placement == placement
