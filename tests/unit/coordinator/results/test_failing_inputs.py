"""The kinds of input with which some of a function's cases fail, and the words for the reference that judged its
cases."""

from __future__ import annotations

import pytest

from coordinator.results.inputs import failing_inputs
from coordinator.results.judges import WORDS, JudgedCases, judge_counts, judges_sentence
from protocol.enums import FORM_ONLY, JUDGED_BY, InputKind, Judge
from runners.torch.suites.library import FUNCTIONS


@pytest.mark.parametrize(
    ("failed_kinds", "passed_kinds", "words"),
    [
        ([], ["plain"], None),
        (["plain"], [], None),
        (["empty"], ["plain"], "only on empty input"),
        (["0-dim", "empty"], ["plain", "strided"], "only on empty and 0-dim input"),
        # One kind that all failed cases have says it shorter than two.
        (["empty broadcast", "0-dim broadcast"], ["plain"], "only on broadcast input"),
        (["empty broadcast"], ["broadcast"], "only on empty input"),
        (["plain"], ["plain"], "on some plain input"),
        (["empty", "strided"], ["strided"], "on some empty and strided input"),
        (["empty broadcast"], ["empty", "broadcast"], "on some empty and broadcast input"),
    ],
)
def test_the_kinds_on_which_a_function_fails_in_part(
    failed_kinds: list[str], passed_kinds: list[str], words: str | None
) -> None:
    assert failing_inputs(failed_kinds, passed_kinds) == words
    assert failing_inputs(failed_kinds[::-1], passed_kinds[::-1]) == words


def test_every_judge_has_words_and_those_that_are_independent_come_first() -> None:
    assert list(WORDS) == list(Judge)
    assert [judge for judge in Judge if judge.is_independent] == list(Judge)[:2]


def test_a_suite_that_does_not_say_who_judged_is_in_no_sentence() -> None:
    assert judge_counts([JudgedCases("torch", "torch.add", None, 3)]) == []
    assert judges_sentence([]) is None


def test_our_frozen_suite_says_of_every_case_who_judged_it_and_on_which_input() -> None:
    judges = {f"{JUDGED_BY}{judge}" for judge in Judge} | {FORM_ONLY}
    for function in FUNCTIONS:
        for case in function.cases:
            tags = set(case.tags)
            assert len(tags & judges) == (0 if case.refuses else 1), case.id
            assert tags & set(InputKind), case.id
