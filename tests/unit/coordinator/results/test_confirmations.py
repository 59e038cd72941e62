"""Confirmations of an outcome: each way in which the call was repeated, and the result."""

from __future__ import annotations

import pytest

from coordinator.results.outcomes.confirmations import confirmations
from protocol.enums import Repetition
from protocol.outcomes import Evidence


def test_an_outcome_whose_call_was_not_repeated_has_none() -> None:
    assert confirmations(None, has_passed=True) == []
    assert confirmations(Evidence(exception="builtins.ValueError"), has_passed=False) == []


@pytest.mark.parametrize("field", [name for name, field in Evidence.model_fields.items() if "Repetition" in str(field)])
def test_every_repetition_that_evidence_holds_is_told(field: str) -> None:
    (confirmation,) = confirmations(Evidence.model_validate({field: "failed_otherwise"}), has_passed=False)
    assert confirmation.end is Repetition.failed_otherwise
    assert confirmation.sentence == f"{confirmation.way}: it failed in another way"


def test_a_case_that_passed_alone_says_where_it_fails() -> None:
    (confirmation,) = confirmations(Evidence(after_others=Repetition.failed_alike), has_passed=True)
    assert confirmation.sentence == "after other cases, in their process: it failed, and only there"
