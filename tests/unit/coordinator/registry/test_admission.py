"""Which failed clauses of the contract prevent a runner's registration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coordinator.conformance import ClauseFinding, ConformanceReport, Level, Result
from coordinator.conformance.contract import CLAUSES
from coordinator.registry.admission import ESSENTIAL, Admission, judge

ROOT = Path(__file__).resolve().parents[4]
PROBED = [clause for clause in CLAUSES if clause.level is Level.probe]


def report(**results: Result) -> ConformanceReport:
    """A report in which all clauses passed except these. In their names, two underscores stand for the dot."""
    results_by_id = {id.replace("__", "."): result for id, result in results.items()}
    return ConformanceReport(
        url="http://gpu-box:8790",
        level=Level.probe,
        runner="toy",
        findings=[
            ClauseFinding(
                id=clause.id, sentence=clause.sentence, result=results_by_id.get(clause.id, Result.passed), seconds=0.0
            )
            for clause in PROBED
        ],
    )


def test_what_is_essential_is_checked_when_a_runner_is_registered() -> None:
    assert {clause.id for clause in PROBED} >= ESSENTIAL


def test_the_documentation_names_what_is_essential() -> None:
    text = (ROOT / "docs" / "reference" / "pages.md").read_text()
    paragraph = text.partition("Essential sentences are ")[2].partition("\n\n")[0]
    assert set(re.findall(r"`([a-z]+\.[a-z_]+)`", paragraph)) == ESSENTIAL


def test_a_runner_that_keeps_its_promises_joins() -> None:
    assert judge(report()) is Admission.sound


def test_what_could_not_be_checked_is_no_fault() -> None:
    assert judge(report(outcomes__output=Result.not_run)) is Admission.sound


def test_a_runner_that_breaks_what_one_can_live_with_is_faulty() -> None:
    assert judge(report(requests__problem=Result.failed)) is Admission.faulty


@pytest.mark.parametrize("id", sorted(ESSENTIAL))
@pytest.mark.parametrize("result", [Result.failed, Result.not_run])
def test_a_runner_whose_outcomes_cannot_be_trusted_is_unusable(id: str, result: Result) -> None:
    assert judge(report(**{id.replace(".", "__"): result, "requests__problem": Result.failed})) is Admission.unusable
