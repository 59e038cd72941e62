"""What a request for a campaign means where it says nothing."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from coordinator.campaigns.request import CampaignRequest
from protocol.enums import TimedCases, TimingPolicy


@pytest.mark.parametrize(
    ("fields", "timing"),
    [
        ({}, TimingPolicy.steady),
        ({"suite": "paper"}, TimingPolicy.steady),
        ({"suite": "library"}, TimingPolicy.off),
        ({"suite": "library", "timing": "quick"}, TimingPolicy.quick),
    ],
)
def test_a_suite_of_a_whole_library_is_not_timed_unless_asked_for(fields: dict[str, str], timing: TimingPolicy) -> None:
    assert CampaignRequest.model_validate(fields).timing is timing


@pytest.mark.parametrize(
    ("fields", "timed_cases"),
    [
        ({}, TimedCases.all),
        ({"suite": "library"}, TimedCases.representative),
        ({"suite": "library", "timing": "quick"}, TimedCases.representative),
        ({"suite": "library", "timed_cases": "all"}, TimedCases.all),
        ({"timed_cases": "representative"}, TimedCases.representative),
    ],
)
def test_of_a_whole_library_one_case_a_function_is_timed_unless_all_are(
    fields: dict[str, str], timed_cases: TimedCases
) -> None:
    assert CampaignRequest.model_validate(fields).timed_cases is timed_cases


def test_one_mistake_is_said_once() -> None:
    with pytest.raises(ValidationError) as excinfo:
        CampaignRequest.model_validate({"suite": "library", "runs": 0})
    assert [error["loc"] for error in excinfo.value.errors()] == [("runs",)]
