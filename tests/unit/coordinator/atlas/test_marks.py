"""Marks: one word for a function on a target, decided by the endings of its cases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.assess.evidence import CaseEvidence
from coordinator.atlas.marks import AtlasCell, Mark, cell_of, cell_words, mark_words
from coordinator.results.conditions import End
from tests.unit.coordinator.assess.cases import case
from tests.unit.coordinator.atlas.evidence import wrong

ENDS = st.lists(st.sampled_from(["passed", "unproven", "fell_back", "failed"]), min_size=1, max_size=30)


def cell(*ends: End) -> AtlasCell:
    new_cell = cell_of([case(f"{number}", end) for number, end in enumerate(ends)])
    assert new_cell is not None
    return new_cell


@pytest.mark.parametrize(
    ("ends", "mark", "words"),
    [
        (("passed", "passed"), Mark.works, "passes in all 2 cases, on the device"),
        (("passed",), Mark.works, "passes in its only case, on the device"),
        (("passed", "unproven"), Mark.works, "passes in all 2 cases, in 1 of them with proof that the device computed"),
        (("unproven", "unproven"), Mark.unproven, "passes in all 2 cases, without proof that the device computed"),
        (("failed", "failed"), Mark.fails, "fails in all 2 cases"),
        (("fell_back",), Mark.falls_back, "falls back to the host in its only case"),
        (("fell_back", "failed"), Mark.falls_back, "1 of 2 cases fails; 1 of 2 falls back to the host"),
        (("passed", "failed", "failed"), Mark.partly, "2 of 3 cases fail"),
        (("unproven", "failed"), Mark.partly, "1 of 2 cases fails"),
        (("passed", "fell_back", "fell_back"), Mark.partly, "2 of 3 fall back to the host"),
    ],
)
def test_a_mark_says_how_the_cases_end(ends: tuple[End, ...], mark: Mark, words: str) -> None:
    assert cell(*ends).mark is mark
    assert cell_words(cell(*ends), is_lowered=False) == words


@given(ENDS)
def test_works_needs_a_case_on_the_device_and_none_that_fails_or_falls_back(ends: list[End]) -> None:
    works = "passed" in ends and not {"failed", "fell_back"} & set(ends)
    assert (cell(*ends).mark is Mark.works) == works


@given(ENDS)
def test_a_function_that_never_runs_on_the_device_is_not_said_to_work_in_part(ends: list[End]) -> None:
    if not {"passed", "unproven"} & set(ends):
        assert cell(*ends).mark in (Mark.fails, Mark.falls_back)


def test_wrong_values_without_an_error_are_said() -> None:
    def words(*cases: CaseEvidence) -> str:
        new_cell = cell_of(cases)
        assert new_cell is not None
        return cell_words(new_cell, is_lowered=False)

    assert words(wrong("a"), wrong("b")) == "fails in all 2 cases, with wrong values and no error"
    assert words(wrong("a"), case("b", "failed"), case("c")) == (
        "2 of 3 cases fail, 1 of them with wrong values and no error"
    )


def test_of_a_target_whose_programs_are_not_run_it_is_said_what_was_lowered() -> None:
    assert cell_words(cell("unproven", "unproven"), is_lowered=True) == "is lowered in all 2 cases, not run"
    assert cell_words(cell("unproven", "failed"), is_lowered=True) == "has no lowering in 1 of 2 cases, not run"


def test_on_a_target_whose_programs_are_not_run_no_mark_says_that_a_function_works_or_fails() -> None:
    words = {
        mark_words(cell(*ends).mark, is_lowered=True) for ends in (["unproven"], ["failed"], ["unproven", "failed"])
    }
    assert words == {"lowered", "no lowering", "lowered in part"}
    assert mark_words(Mark.fails, is_lowered=False) == "fails"


def test_without_a_case_there_is_no_mark() -> None:
    assert cell_of([]) is None


@pytest.mark.parametrize(
    "counts", [(0, 0, 0, 0, 0), (2, 1, 2, 0, 0), (2, 2, 0, 1, 0), (1, -1, 0, 0, 0), (-1, 0, 0, 0, 0)]
)
def test_counts_that_do_not_add_up_are_no_cell(counts: tuple[int, int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="contradict each other"):
        AtlasCell(*counts)


def test_what_is_silently_accepted_is_said_and_in_no_count() -> None:
    works = cell("passed", "passed", "accepted")
    assert (works.total, works.accepted, works.mark) == (2, 1, Mark.works)
    assert cell_words(works, is_lowered=False) == (
        "passes in all 2 cases, on the device; silently accepts what the host refuses in 1 case"
    )
    alone = cell("accepted", "accepted")
    assert (alone.total, alone.mark) == (0, Mark.unproven)
    assert cell_words(alone, is_lowered=False) == "silently accepts what the host refuses in 2 cases"
