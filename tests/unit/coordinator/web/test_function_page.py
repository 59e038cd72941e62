"""The page of a function in a campaign shows the cases that say something, and folds the many that pass."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from coordinator.results.outcomes.models import CaseDetail, RunDetail
from coordinator.web.function_page import MOST_CASES, fold_cases


def case(
    name: str,
    verdict: str = "passed",
    placement: str = "on_device",
    unproven: str | None = None,
    samples_ms: Sequence[float] = (),
) -> CaseDetail:
    run = RunDetail.model_construct(
        verdict=verdict, placement=placement, unproven=unproven, samples_ms=list(samples_ms)
    )
    return CaseDetail.model_construct(case=name, runs=[run])


PLAIN = [case(f"plain-{number}") for number in range(MOST_CASES)]


@pytest.mark.parametrize(
    "other",
    [
        case("fails", "failed", "unknown"),
        case("falls back", placement="fell_back"),
        case("not proven", "passed", "unknown", "nothing_executed"),
        case("timed", samples_ms=[1.0]),
    ],
)
def test_of_many_cases_those_that_pass_are_folded(other: CaseDetail) -> None:
    passing = [*PLAIN, case("of the host", placement="host_only"), case("refuses", "passed", "unknown", "refuses")]
    assert fold_cases([other, *passing]) == ([other], passing)


def test_a_few_cases_are_all_shown() -> None:
    assert fold_cases(PLAIN) == (PLAIN, [])
