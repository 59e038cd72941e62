"""How a campaign is timed: as it asks, else as its suite declares, else by default."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.campaigns.request import CampaignRequest
from coordinator.campaigns.timing import DEFAULT, NOT_DECLARED, CampaignTiming, SuiteTiming, choose_timing
from coordinator.errors import RequestError
from protocol.enums import TimedCases, TimingPolicy

UNTIMED = SuiteTiming(TimingPolicy.off, TimedCases.representative)
TIMED = SuiteTiming(TimingPolicy.steady, TimedCases.all)


def request(**fields: Any) -> CampaignRequest:
    return CampaignRequest.model_validate({"suite": "mine"} | fields)


@pytest.mark.parametrize(
    ("fields", "suites", "timing"),
    [
        ({}, [NOT_DECLARED], DEFAULT),
        ({}, [TIMED, TIMED], DEFAULT),
        ({}, [UNTIMED], CampaignTiming(*UNTIMED)),
        # A runner that is older than these members does not contradict the others.
        ({}, [NOT_DECLARED, UNTIMED], CampaignTiming(*UNTIMED)),
        ({"timing": "quick"}, [UNTIMED], CampaignTiming(TimingPolicy.quick, TimedCases.representative)),
        ({"timed_cases": "all"}, [UNTIMED], CampaignTiming(TimingPolicy.off, TimedCases.all)),
        ({"timed_cases": "representative"}, [TIMED], CampaignTiming(TimingPolicy.steady, TimedCases.representative)),
        ({"timing": "off", "timed_cases": "all"}, [UNTIMED, TIMED], CampaignTiming(TimingPolicy.off, TimedCases.all)),
    ],
)
def test_a_request_goes_before_the_suite_and_the_suite_before_the_default(
    fields: dict[str, str], suites: list[SuiteTiming], timing: CampaignTiming
) -> None:
    assert choose_timing(request(**fields), suites) == timing


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({}, r"'mine' declare different values \(off, steady\): choose one of them as 'timing'"),
        ({"timing": "off"}, r"different values \(all, representative\): choose one of them as 'timed_cases'"),
    ],
)
def test_targets_whose_suites_differ_leave_the_choice_to_the_request(fields: dict[str, str], complaint: str) -> None:
    with pytest.raises(RequestError, match=complaint):
        choose_timing(request(**fields), [UNTIMED, TIMED])


def test_verdicts_first_needs_a_suite_that_is_timed() -> None:
    with pytest.raises(RequestError, match="the suite 'mine' is not timed by default: turn timing on"):
        choose_timing(request(verdicts_first=True), [UNTIMED])
    timing = choose_timing(request(verdicts_first=True, timing="quick"), [UNTIMED])
    assert timing.policy is TimingPolicy.quick
