"""Chooses how a campaign times its cases: as its request says, otherwise as its suite declares, otherwise by default.
No I/O."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, TypeVar

from coordinator.campaigns.request import CampaignRequest
from coordinator.errors import RequestError
from protocol.enums import DEFAULT_TIMED_CASES, DEFAULT_TIMING, TimedCases, TimingPolicy

_Word = TypeVar("_Word", TimingPolicy, TimedCases)


class SuiteTiming(NamedTuple):
    """The timing that a suite declares. A member is None if the suite's runners do not declare it."""

    policy: TimingPolicy | None = None
    cases: TimedCases | None = None


class CampaignTiming(NamedTuple):
    """The timing of a campaign, fixed when it is planned."""

    policy: TimingPolicy = DEFAULT_TIMING
    cases: TimedCases = DEFAULT_TIMED_CASES


NOT_DECLARED = SuiteTiming()
DEFAULT = CampaignTiming()


def choose_timing(request: CampaignRequest, suites: Collection[SuiteTiming]) -> CampaignTiming:
    """Choose the timing of a campaign. ``suites`` has the declaration of the suite for each target. Raises
    ``RequestError``."""
    policies = {suite.policy for suite in suites if suite.policy is not None}
    cases = {suite.cases for suite in suites if suite.cases is not None}
    timing = CampaignTiming(
        request.timing or _only("timing", request.suite, policies) or DEFAULT_TIMING,
        request.timed_cases or _only("timed_cases", request.suite, cases) or DEFAULT_TIMED_CASES,
    )
    if request.verdicts_first and timing.policy is TimingPolicy.off:
        raise RequestError(
            f"verdicts_first times every run except the first, but the suite '{request.suite}' is not timed by "
            "default: turn timing on, for example with 'quick'"
        )
    return timing


def _only(field: str, suite: str, words: Collection[_Word]) -> _Word | None:
    if len(words) > 1:
        raise RequestError(
            f"the targets' versions of the suite '{suite}' declare different values ({', '.join(sorted(words))}): "
            f"choose one of them as '{field}'"
        )
    return next(iter(words), None)
