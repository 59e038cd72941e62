"""A campaign has the timing policy of its request; without one, its suite's; without both, the default."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.campaigns.request import CampaignRequest
from coordinator.campaigns.timing import DEFAULT, NOT_DECLARED, CampaignTiming, SuiteTiming, choose_timing
from coordinator.errors import RequestError
from protocol.enums import TimedCases, TimingPolicy

VERDICTS_ONLY = SuiteTiming(TimingPolicy.off, TimedCases.representative)
EVERY_CASE = SuiteTiming(TimingPolicy.steady, TimedCases.all)


def request(**fields: Any) -> CampaignRequest:
    return CampaignRequest.model_validate({"suite": "mine"} | fields)


@pytest.mark.parametrize(
    ("fields", "suites", "timing"),
    [
        ({}, [NOT_DECLARED], DEFAULT),
        ({}, [EVERY_CASE, EVERY_CASE], DEFAULT),
        ({}, [VERDICTS_ONLY], CampaignTiming(*VERDICTS_ONLY)),
        # A runner that is older than these members does not contradict the others.
        ({}, [NOT_DECLARED, VERDICTS_ONLY], CampaignTiming(*VERDICTS_ONLY)),
        ({"timing": "quick"}, [VERDICTS_ONLY], CampaignTiming(TimingPolicy.quick, TimedCases.representative)),
        ({"timed_cases": "all"}, [VERDICTS_ONLY], CampaignTiming(TimingPolicy.off, TimedCases.all)),
        (
            {"timed_cases": "representative"},
            [EVERY_CASE],
            CampaignTiming(TimingPolicy.steady, TimedCases.representative),
        ),
        (
            {"timing": "off", "timed_cases": "all"},
            [VERDICTS_ONLY, EVERY_CASE],
            CampaignTiming(TimingPolicy.off, TimedCases.all),
        ),
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
        choose_timing(request(**fields), [VERDICTS_ONLY, EVERY_CASE])


def test_verdicts_first_needs_a_suite_that_is_timed() -> None:
    with pytest.raises(RequestError, match="the suite 'mine' is not timed by default: turn timing on"):
        choose_timing(request(verdicts_first=True), [VERDICTS_ONLY])
    timing = choose_timing(request(verdicts_first=True, timing="quick"), [VERDICTS_ONLY])
    assert timing.policy is TimingPolicy.quick
