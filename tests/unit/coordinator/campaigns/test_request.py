"""What a request for a campaign means where it says nothing."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from coordinator.campaigns.request import CampaignRequest
from protocol.enums import TimedCases, TimingPolicy


@pytest.mark.parametrize(
    ("given", "timing"),
    [
        ({}, TimingPolicy.steady),
        ({"suite": "paper"}, TimingPolicy.steady),
        ({"suite": "library"}, TimingPolicy.off),
        ({"suite": "library", "timing": "quick"}, TimingPolicy.quick),
    ],
)
def test_a_suite_of_a_whole_library_is_not_timed_unless_asked_for(given: dict[str, str], timing: TimingPolicy) -> None:
    assert CampaignRequest.model_validate(given).timing is timing


@pytest.mark.parametrize(
    ("given", "timed"),
    [
        ({}, TimedCases.all),
        ({"suite": "library"}, TimedCases.representative),
        ({"suite": "library", "timing": "quick"}, TimedCases.representative),
        ({"suite": "library", "timed_cases": "all"}, TimedCases.all),
        ({"timed_cases": "representative"}, TimedCases.representative),
    ],
)
def test_of_a_whole_library_one_case_a_function_is_timed_unless_all_are(
    given: dict[str, str], timed: TimedCases
) -> None:
    assert CampaignRequest.model_validate(given).timed_cases is timed


def test_one_mistake_is_said_once() -> None:
    with pytest.raises(ValidationError) as raised:
        CampaignRequest.model_validate({"suite": "library", "runs": 0})
    assert [error["loc"] for error in raised.value.errors()] == [("runs",)]
