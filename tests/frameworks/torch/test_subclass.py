"""On a device made by a subclass of tensors, the placement is unknown and the reason is given, unless the class reports
what it executed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol.enums import Placement, Unproven, Verdict
from protocol.outcomes import Outcome
from tests.frameworks.torch.held import CALLS, Counting, Silent
from tests.frameworks.torch.plants import doubling

OutcomeOf = Callable[..., Outcome]


@pytest.mark.parametrize("name", ["on_the_device", "scaled"])
def test_without_a_report_it_is_unknown_and_says_why(outcome_of: OutcomeOf, name: str) -> None:
    outcome = outcome_of(Silent(), doubling(CALLS[name]))
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.unknown), outcome
    assert (outcome.proof.unproven, outcome.proof.executed) == (Unproven.tensor_subclass, 0)


@pytest.mark.parametrize(
    ("name", "placement"),
    [
        ("on_the_device", Placement.on_device),
        ("scaled", Placement.on_device),
        ("by_its_list", Placement.fell_back),
    ],
)
def test_by_the_report_of_its_class_it_is_known(outcome_of: OutcomeOf, name: str, placement: Placement) -> None:
    outcome = outcome_of(Counting(), doubling(CALLS[name]))
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, placement), outcome
    assert outcome.proof.unproven is None
