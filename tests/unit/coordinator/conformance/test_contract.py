"""Each sentence of the contract has one check, one row in the documentation, and one line in a report."""

from __future__ import annotations

from pathlib import Path

from coordinator.conformance.cases import read_cases
from coordinator.conformance.contract import CLAUSES
from coordinator.conformance.event_stream import read_leniently
from coordinator.conformance.findings import ClauseFinding, ConformanceReport, Level, Result
from protocol.enums import ConformanceTag

DOCS = Path(__file__).resolve().parents[4] / "docs" / "reference"


def _finding(result: Result, detail: str | None = None) -> ClauseFinding:
    return ClauseFinding(
        id="jobs.known", sentence="Posted again, it runs once.", result=result, detail=detail, seconds=0.1
    )


def test_every_clause_has_an_id_a_check_and_a_sentence_of_its_own() -> None:
    assert len({clause.id for clause in CLAUSES}) == len(CLAUSES)
    assert len({clause.check for clause in CLAUSES}) == len(CLAUSES)
    assert len({clause.sentence for clause in CLAUSES}) == len(CLAUSES)


def test_every_tag_is_explained_where_the_catalogue_is() -> None:
    text = (DOCS / "runner-api.md").read_text()
    assert [tag for tag in ConformanceTag if f"| `{tag}` |" not in text] == []


def test_a_report_conforms_unless_something_failed() -> None:
    def report(*findings: ClauseFinding) -> ConformanceReport:
        return ConformanceReport(
            url="http://runner", level=Level.full, runner="toy@1/none on toy", findings=list(findings)
        )

    assert report(_finding(Result.passed), _finding(Result.not_run, "no case")).conforms
    broken = report(_finding(Result.passed), _finding(Result.failed, "it ran twice"))
    assert not broken.conforms
    assert broken.summary == "toy@1/none on toy: 1 passed, 1 failed, 0 not run"


def test_a_finding_is_shown_with_its_sentence_and_what_was_seen() -> None:
    first, second = _finding(Result.failed, "it ran twice").lines()
    assert first.split(maxsplit=2) == ["FAILED", "jobs.known", "Posted again, it runs once."]
    assert second.strip() == "it ran twice"
    assert len(list(_finding(Result.passed).lines())) == 1


def test_events_are_read_whatever_is_wrong_with_their_line() -> None:
    assert list(read_leniently(b'{"n": 1}{"n": 2}')) == [{"n": 1}, {"n": 2}]
    assert [event["n"] for event in read_leniently(b'{"n": 1, "ms": NaN}')] == [1]
    assert list(read_leniently(b"no JSON at all")) == list(read_leniently(b'{"n": ')) == []


def test_cases_are_found_in_a_catalogue_that_is_not_all_right() -> None:
    catalogue = {"suites": [{"name": "a", "revision": "1", "cases": [{"id": "x", "tags": "none"}, 7]}, "b"]}
    assert [(case.suite, case.id, case.tags) for case in read_cases(catalogue)] == [("a", "x", ())]
    assert list(read_cases({"suites": None})) == []
