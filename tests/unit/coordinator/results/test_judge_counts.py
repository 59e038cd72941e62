"""Each reference is counted with its own cases and functions, the most independent first."""

from __future__ import annotations

from coordinator.results.judges import JudgeCount, JudgedCases, independent_functions, judge_counts, judges_sentence
from protocol.enums import Judge

JUDGED = [
    JudgedCases("torch", "torch.add", Judge.form, 1),
    JudgedCases("torch", "torch.add", Judge.numpy, 3),
    JudgedCases("torch", "torch.mul", Judge.numpy, 2),
    JudgedCases("jax", "torch.mul", Judge.float64, 4),
    JudgedCases("torch", "torch.sub", None, 5),
]


def test_each_judge_has_its_own_cases_and_functions() -> None:
    assert judge_counts(JUDGED) == [
        JudgeCount(Judge.numpy, 5, 2),
        JudgeCount(Judge.float64, 4, 1),
        JudgeCount(Judge.form, 1, 1),
    ]


def test_a_function_counts_as_independently_judged_by_one_case() -> None:
    assert independent_functions(JUDGED) == 2
    assert independent_functions(JUDGED[3:]) == 0


def test_the_sentence_counts_every_case_and_names_who_judged() -> None:
    sentence = judges_sentence(JUDGED)
    assert sentence is not None
    assert sentence.startswith("Of 15 cases that ran, 5 by numpy, 4 by float64 and 1 by form: 2 of 4 functions (50 %)")
