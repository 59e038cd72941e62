"""What a campaign's page says of counters and verdicts."""

from __future__ import annotations

import pytest

from coordinator.campaigns.models import Counters, VerdictCount
from coordinator.web.campaign_pages import causes, progress


def counters(total: int, passed: int = 0, failed: int = 0, cancelled: int = 0) -> Counters:
    return Counters(
        total=total,
        done=passed + failed,
        passed=passed,
        failed=failed,
        skipped=0,
        incomplete=0,
        cancelled=cancelled,
    )


def verdicts(functions: int, verdict: str, cause: str | None = None, **more: str | None) -> VerdictCount:
    on_device = {"verdict_on_device": verdict, "cause_on_device": cause, "not_counted_cause": None, **more}
    return VerdictCount.model_validate(
        {"target_id": 1, "verdict": verdict, "cause": cause, "functions": functions, **on_device}
    )


def test_the_rate_and_the_time_left_are_unknown_before_anything_is_done() -> None:
    found = progress(counters(10), 5.0, None)
    assert (found.percent, found.per_second, found.seconds_left) == (0.0, None, None)
    assert found.said == "0 of 10 jobs are done."


def test_progress_says_the_rate_and_about_when_it_ends() -> None:
    found = progress(counters(2000, passed=500), 100.0, 300.0)
    assert (found.percent, found.per_second, found.seconds_left) == (25.0, 5.0, 300.0)
    assert found.said == "500 of 2,000 jobs are done; about 5 min 00 s left."


def test_what_has_ended_has_no_time_left() -> None:
    found = progress(counters(10, passed=4, failed=1, cancelled=5), 10.0, 0.0)
    assert (found.percent, found.seconds_left) == (100.0, None)
    assert found.said == "5 of 10 jobs are done, 5 were cancelled."


@pytest.mark.parametrize("elapsed_s", [0.0, -3.0])
def test_a_clock_that_is_behind_makes_no_rate(elapsed_s: float) -> None:
    assert progress(counters(10, passed=1), elapsed_s, None).per_second is None


def test_a_campaign_without_jobs_is_no_division_by_zero() -> None:
    assert progress(counters(0), 1.0, None).percent == 0.0


def test_causes_are_counted_by_both_verdicts_the_most_frequent_first() -> None:
    found = causes(
        7,
        [
            verdicts(2, "partial", "type"),
            verdicts(3, "complete", "crash"),
            verdicts(4, "success", verdict_on_device="complete", cause_on_device="placement"),
            verdicts(9, "success"),
        ],
    )
    assert [(count.cause, count.functions, count.functions_on_device) for count in found] == [
        ("crash", 3, 3),
        ("type", 2, 2),
        ("placement", 0, 4),
    ]
    assert found[2].address_on_device == "/campaigns/7/matrix?q=cause%3Aplacement&verdict=on_device"


def test_a_cause_that_is_in_no_count_matters_only_where_nothing_counts() -> None:
    found = causes(
        1,
        [
            verdicts(2, "unknown", not_counted_cause="not_applicable"),
            verdicts(5, "success", not_counted_cause="not_applicable"),
        ],
    )
    assert [(count.cause, count.functions) for count in found] == [("not_applicable", 2)]
