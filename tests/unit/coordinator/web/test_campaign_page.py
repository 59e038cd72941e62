"""The texts of a campaign's page about counters and verdicts."""

from __future__ import annotations

import pytest

from coordinator.campaigns.models import Counters, TimeEstimate, VerdictCount
from coordinator.figures.counting import ANYWHERE, ON_DEVICE
from coordinator.web.campaign_pages import causes, progress


def counters(total: int, passes: int = 0, failures: int = 0, cancellations: int = 0) -> Counters:
    return Counters(
        total=total,
        done=passes + failures,
        passed=passes,
        failed=failures,
        skipped=0,
        incomplete=0,
        cancelled=cancellations,
    )


def left(seconds: float | None, *, is_lower_bound: bool = False) -> TimeEstimate:
    return TimeEstimate(seconds=seconds, measured_jobs=1, is_lower_bound=is_lower_bound)


def verdicts(
    functions: int, verdict: str, cause: str | None = None, on_device: tuple[str, str] | None = None
) -> list[VerdictCount]:
    """Functions with a verdict and a cause, and with a different verdict on the device if one is given."""
    by_rule = {ANYWHERE: (verdict, cause), ON_DEVICE: on_device or (verdict, cause)}
    return [
        VerdictCount(target_id=1, rule=rule.name, verdict=word, cause=why, functions=functions)
        for rule, (word, why) in by_rule.items()
    ]


def test_the_rate_and_the_time_left_are_unknown_before_anything_is_done() -> None:
    job_progress = progress(counters(10), 5.0, left(None))
    assert (job_progress.percent, job_progress.per_second, job_progress.estimate.seconds) == (0.0, None, None)
    assert job_progress.said == "0 of 10 jobs are done."


def test_progress_says_the_rate_and_about_when_it_ends() -> None:
    job_progress = progress(counters(2000, passes=500), 100.0, left(300.0))
    assert (job_progress.percent, job_progress.per_second, job_progress.estimate.seconds) == (25.0, 5.0, 300.0)
    assert job_progress.said == "500 of 2,000 jobs are done; about 5 min 00 s left."
    bound = progress(counters(2000, passes=500), 100.0, left(300.0, is_lower_bound=True))
    assert bound.said == "500 of 2,000 jobs are done; at least 5 min 00 s left."


def test_what_has_ended_has_no_time_left() -> None:
    job_progress = progress(counters(10, passes=4, failures=1, cancellations=5), 10.0, left(0.0))
    assert (job_progress.percent, job_progress.estimate.seconds) == (100.0, None)
    assert job_progress.said == "5 of 10 jobs are done, 5 were cancelled."


@pytest.mark.parametrize("elapsed_s", [0.0, -3.0])
def test_a_clock_that_is_behind_makes_no_rate(elapsed_s: float) -> None:
    assert progress(counters(10, passes=1), elapsed_s, left(None)).per_second is None


def test_a_campaign_without_jobs_is_no_division_by_zero() -> None:
    assert progress(counters(0), 1.0, left(None)).percent == 0.0


def test_causes_are_counted_by_both_rules_the_most_frequent_first() -> None:
    counts = causes(
        7,
        [
            *verdicts(2, "partial", "type"),
            *verdicts(3, "complete", "crash"),
            *verdicts(4, "success", on_device=("complete", "placement")),
            *verdicts(9, "success"),
            *verdicts(1, "unknown", "removed"),
        ],
    )
    assert [(count.cause, *count.functions.values()) for count in counts] == [
        ("crash", 3, 3),
        ("type", 2, 2),
        ("removed", 1, 1),
        ("placement", 0, 4),
    ]
    assert [count.cause for count in counts if not count.is_failure] == ["removed"]
    assert counts[3].addresses["on_device"] == "/campaigns/7/matrix?q=cause%3Aplacement&rule=on_device"
