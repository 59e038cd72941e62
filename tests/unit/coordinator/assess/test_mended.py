"""Advice to change the version is given only if the same cases that fail are known to pass in another release."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coordinator.assess.evidence import TargetEvidence
from coordinator.assess.mended import with_versions
from protocol.enums import DeviceClass
from tests.unit.coordinator.assess.cases import FUNCTION, assessment_of, case, several, target

FAILING = [*several(3, "plain", "failed"), case("other")]


def release(version: str, end: str = "passed", count: int = 3) -> TargetEvidence:
    return target({FUNCTION: [*several(count, "plain", end), case("other")]}, version=version)  # type: ignore[arg-type]


def advice(*others: TargetEvidence) -> tuple[str, ...]:
    here = target({FUNCTION: FAILING[:3]})
    (finding,) = with_versions(assessment_of(FAILING[:3]), here, [here, *others]).findings
    return finding.verdict.advice


def test_the_next_version_in_which_all_of_these_cases_pass_is_said() -> None:
    others = [release("2.15.0"), release("2.10.0", "failed"), release("2.13.0"), release("2.8.0")]
    assert advice(*others) == ("passes in torch 2.13.0 (3 of 3 cases)",)


def test_else_the_last_version_before() -> None:
    assert advice(release("2.7.0"), release("2.8.0"), release("2.13.0", "fell_back")) == (
        "passes in torch 2.8.0 (3 of 3 cases)",
    )


@pytest.mark.parametrize(
    "other",
    [
        release("2.13.0", "failed"),
        release("2.13.0", "fell_back"),
        release("2.13.0", count=1),
        replace(release("2.13.0"), device="cuda"),
        replace(release("2.13.0"), device_class=DeviceClass.tpu),
        target({"torch.bar": several(3, "plain")}, version="2.13.0"),
    ],
    ids=["fails there too", "falls back", "a single case", "another device", "another class", "not charted"],
)
def test_nothing_is_said_where_outcomes_do_not_show_it(other: TargetEvidence) -> None:
    assert advice(other) == ()


def test_a_note_gets_no_advice() -> None:
    cases = [*several(5, "plain"), case("odd", "failed", "empty")]
    here = target({FUNCTION: cases})
    there = target({FUNCTION: several(5, "plain")}, version="2.13.0")
    assert all(not one.verdict.advice for one in with_versions(assessment_of(cases), here, [there]).findings)
