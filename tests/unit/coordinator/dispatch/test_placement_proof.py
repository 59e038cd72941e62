"""A runner's word that a case ran on its device counts as far as its proof bears it."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.dispatch.leases import Key
from coordinator.dispatch.records import record
from protocol.enums import Ending, Placement, Verdict
from protocol.outcomes import Outcome, PlacementProof

CLAIMED = Placement.on_device


def stored(placement: Placement, device: str, **proof: Any) -> str:
    outcome = Outcome(
        verdict=Verdict.passed,
        ending=Ending.returned,
        placement=placement,
        proof=PlacementProof(devices=[f"{device}:0"], **proof),
        duration_s=0.1,
    )
    return record(Key("1", 1), outcome, framework="torch", device=device).placement


@pytest.mark.parametrize(
    ("proof", "expected"),
    [
        ({"executed": 3}, Placement.on_device),
        ({"executed": 0}, Placement.unknown),
        ({}, Placement.unknown),
        ({"executed": 3, "fallbacks": {"aten::sort": 1}}, Placement.fell_back),
    ],
)
def test_a_claim_without_an_execution_is_unknown(proof: dict[str, Any], expected: Placement) -> None:
    assert stored(CLAIMED, "cuda", **proof) == expected


def test_the_host_needs_no_proof_of_itself() -> None:
    assert stored(CLAIMED, "cpu") == Placement.on_device


@pytest.mark.parametrize("placement", [Placement.fell_back, Placement.host_only, Placement.unknown])
def test_no_other_placement_is_changed(placement: Placement) -> None:
    assert stored(placement, "cuda", executed=3) == placement
