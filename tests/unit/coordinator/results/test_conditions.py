"""Conditions: the options by which a function's failing cases differ from its other cases, with their counts."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.results.conditions import (
    UNKNOWN_VALUE,
    USUAL_DTYPES,
    CallSite,
    End,
    EndedCase,
    condition_of,
    dtypes_tried,
    end_of_runs,
    function_condition,
    judges_of,
    matching,
)
from protocol.catalogue import CallOptions, CaseOptions
from protocol.enums import Cause, Judge, Placement, Verdict

DTYPES = ["float32", "float16", "bfloat16", "int32"]
KEYWORDS = ["axis", "out", "mode"]
VALUES = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["a", "b"]), st.just([1, 2]))
CALLS = st.builds(
    CallOptions,
    positional=st.integers(0, 3),
    keywords=st.dictionaries(st.sampled_from(KEYWORDS), VALUES, max_size=3),
)
OPTIONS = st.builds(
    CaseOptions,
    kind=st.sampled_from(["value", "behaviour"]),
    dtypes=st.lists(st.sampled_from(DTYPES), max_size=2, unique=True),
    calls=st.none() | st.lists(CALLS, max_size=2),
)
ENDS: list[End] = ["passed", "unproven", "fell_back", "failed"]
CASES = st.lists(
    st.builds(
        EndedCase,
        end=st.sampled_from(ENDS),
        options=st.none() | OPTIONS,
        tags=st.frozensets(st.sampled_from(["empty", "plain", "gradient"])),
        judged_by=st.none() | st.sampled_from(Judge),
    ),
    max_size=12,
)


def case(end: End = "passed", dtype: str = "float32", positional: int = 1, *tags: str, **keywords: Any) -> EndedCase:
    call = CallOptions(positional=positional, keywords=keywords)
    return EndedCase(end, CaseOptions(kind="value", dtypes=[dtype], calls=[call]), frozenset(tags), Judge.numpy)


def fails(*cases: EndedCase) -> str:
    return str(function_condition(cases).fails)


def test_dtypes_that_only_failing_cases_have_are_the_condition() -> None:
    cases = [case("failed", dtype) for dtype in ("float16", "float16", "bfloat16", "bfloat16")] + [case()] * 12
    assert fails(*cases) == "in bfloat16 and float16 (4 of 4), not otherwise (0 of 12)"


def test_a_keyword_that_some_passing_cases_have_too_says_so() -> None:
    cases = [*[case("failed", axis=0)] * 4, *[case(axis=0)] * 2, *[case()] * 9]
    assert fails(*cases) == "with axis (4 of 6), not otherwise (0 of 9)"


def test_an_option_that_most_failing_cases_have_says_what_it_leaves_out() -> None:
    cases = [*[case("failed", axis=0)] * 9, case(axis=0), case("failed"), *[case()] * 9]
    assert fails(*cases) == "with axis (9 of 10), otherwise (1 of 10)"


def test_options_with_which_all_fail_are_told_though_others_fail_too() -> None:
    always = [case("failed", mode=mode) for mode in ("area", "cubic") for _ in range(10)]
    sometimes = [*[case("failed", mode="linear")] * 3, *[case(mode="linear")] * 20]
    assert fails(*always, *sometimes) == "with mode='area' or mode='cubic' (20 of 20), otherwise (3 of 23)"


def test_what_may_well_be_chance_is_no_condition() -> None:
    assert fails(*[case("failed", axis=0)] * 2, *[case(axis=0)] * 2, *[case()] * 4) == "None"


def test_a_condition_of_one_case_says_so() -> None:
    cases = [case("fell_back", "float32", 1), *[case(positional=3)] * 4]
    condition = function_condition(cases)
    assert str(condition.falls_back) == "with 1 positional argument (1 of 1, a single case), not otherwise (0 of 4)"
    assert condition.short_falling_back == "1 of 5; with 1 positional argument (1 case)"


def test_a_keyword_that_must_be_given_is_told_by_its_absence() -> None:
    assert fails(*[case("failed")] * 3, *[case(size=number) for number in range(4)]) == (
        "without size (3 of 3), not otherwise (0 of 4)"
    )


def test_a_keyword_that_is_null_is_not_given() -> None:
    assert fails(*[case("failed", mode="a")] * 2, *[case(mode=None)] * 2).startswith("with mode (2 of 2)")


def test_a_value_is_told_where_its_keyword_is_given_by_all() -> None:
    assert fails(*[case("failed", mode="area")] * 2, *[case(mode="linear")] * 3) == (
        "with mode='area' (2 of 2), not otherwise (0 of 3)"
    )


def test_inputs_and_gradients_are_options_too() -> None:
    empty = [case("failed", "float32", 1, "empty"), case("failed", "float32", 1, "empty", "0-dim")]
    assert fails(*empty, case("passed", "float32", 1, "plain")) == ("on empty input (2 of 2), not otherwise (0 of 1)")
    nans = [case("failed", "float32", 1, "plain", "non-finite")] * 2
    assert fails(*nans, *[case("passed", "float32", 1, "plain")] * 3) == (
        "on non-finite input (2 of 2), not otherwise (0 of 3)"
    )
    gradients = [case("failed", "float32", 1, "gradient")] * 2
    assert fails(*gradients, *[case()] * 3) == "in gradient cases (2 of 2), not otherwise (0 of 3)"
    recompiled = case("failed", "float32", 1, "recompiled")
    assert fails(recompiled, *[case()] * 3) == "in recompiled cases (1 of 1, a single case), not otherwise (0 of 3)"


def test_the_first_use_of_the_device_is_a_condition_too() -> None:
    host_first = [case("failed", "float32", 1, "host-first")] * 2
    assert fails(*host_first, *[case()] * 9) == "in host-first cases (2 of 2), not otherwise (0 of 9)"


def test_several_keywords_are_told_as_one_or_the_other_and_missing_ones_alone() -> None:
    either = [case("failed", axis=0), case("failed", out=1)]
    assert fails(*either, case()) == "with axis or out (2 of 2), not otherwise (0 of 1)"
    both = case(axis=0, out=1)
    assert fails(case("failed", axis=0), case("failed", out=1), both) == "None"


def test_nothing_is_told_where_all_fail_or_none_does() -> None:
    assert function_condition([case()] * 3).fails is None
    whole = function_condition([case("failed", "float16")] * 3)
    assert str(whole.fails) == "in every case"
    assert whole.short_failing == "3 of 3"


def test_no_option_separates_equal_cases() -> None:
    condition = function_condition([case("failed"), case(), case()])
    assert condition.fails is None
    assert condition.sentences[0] == "fails 1 of 3 cases: no option tells them from the others"


def test_an_option_that_one_case_does_not_say_tells_nothing_apart() -> None:
    unknown = EndedCase("passed", CaseOptions(kind="value", dtypes=["float32"]))
    assert fails(*[case("failed", axis=0)] * 3, case(), unknown) == "None"


def test_what_ran_nobody_knows_where_is_set_against_no_fallback() -> None:
    cases = [case("fell_back", "float16"), case("unproven", "float16"), case()]
    condition = function_condition(cases)
    assert (condition.total, condition.fell_back) == (3, 1)
    assert str(condition.falls_back) == "in float16 (1 of 1, a single case), not otherwise (0 of 1)"


@pytest.mark.parametrize(
    ("judges", "words"),
    [
        ([Judge.numpy, Judge.itself], "1 of 2 cases judged by an independent reference"),
        ([Judge.itself, Judge.float64], "judged only by the same framework"),
        ([None, None], "its suite does not say who judged"),
    ],
)
def test_who_judged_is_part_of_it(judges: list[Judge | None], words: str) -> None:
    cases = [EndedCase("failed", judged_by=judge) for judge in judges]
    assert function_condition(cases).sentences[-1] == judges_of(cases) == words


@given(CASES)
def test_the_counts_of_a_condition_add_up_to_the_functions_own(cases: list[EndedCase]) -> None:
    of_function = function_condition(cases)
    placed_cases = [of for of in cases if of.end in ("passed", "fell_back")]
    for condition, count, total in (
        (of_function.fails, of_function.failed, len(cases)),
        (of_function.falls_back, of_function.fell_back, len(placed_cases)),
    ):
        if condition is not None:
            assert condition.failing + condition.others_failing == count > 0
            assert condition.of + condition.others == total
            assert 0 < condition.failing <= condition.of
            assert condition.others_failing <= condition.others
            assert (condition.aspect is None) == (count == total)


@given(CASES)
def test_a_case_with_the_options_fails_more_often_than_one_without(cases: list[EndedCase]) -> None:
    condition = condition_of(cases, lambda of: of.end == "failed")
    if condition is not None and condition.aspect is not None:
        assert condition.failing * condition.others > condition.others_failing * condition.of


@given(CASES, st.randoms(use_true_random=False))
def test_the_order_of_cases_does_not_matter(cases: list[EndedCase], chance: random.Random) -> None:
    shuffled_cases = list(cases)
    chance.shuffle(shuffled_cases)
    assert function_condition(shuffled_cases) == function_condition(cases)


WHERE = [case("fell_back", positional=1), *[case(positional=3)] * 4, case("failed", "float32", 1, axis=0)]


@pytest.mark.parametrize(
    ("site", "ends"),
    [
        (CallSite(3, {}), ["passed"] * 4),
        (CallSite(1, {}), ["fell_back"]),
        (CallSite(1, {"axis": None}), ["fell_back"]),
        (CallSite(1, {"axis": 0}), ["failed"]),
        (CallSite(1, {"axis": UNKNOWN_VALUE}), ["failed"]),
        (CallSite(1, {"axis": False}), []),
        (CallSite(2, {}), []),
        (CallSite(3, {"out": UNKNOWN_VALUE}), []),
    ],
)
def test_a_call_is_compared_with_the_cases_that_are_like_it(site: CallSite, ends: list[str]) -> None:
    assert [case.end for case in matching(site, WHERE)] == ends


def pooling(end: End, *arguments: Any) -> EndedCase:
    plain_arguments = {str(number): value for number, value in enumerate(arguments, 2) if value is not UNKNOWN_VALUE}
    call = CallOptions(positional=1 + len(arguments), arguments=plain_arguments)
    return EndedCase(end, CaseOptions(calls=[call]))


SIZES = [
    *[pooling("passed", [1, 1])] * 2,
    *[pooling("fell_back", 3)] * 3,
    pooling("failed", 4),
    pooling("failed", [3, 4]),
]
MODES = [*[pooling("passed", 1, "mean")] * 2, *[pooling("failed", 2, "sum")] * 2, pooling("fell_back", 3, "last")]


@pytest.mark.parametrize(
    ("cases", "arguments", "ends"),
    [
        (SIZES, {2: 1}, ["passed"] * 2),
        (SIZES, {2: [1, 1]}, ["passed"] * 2),
        (SIZES, {2: [3, 3]}, ["fell_back"] * 3),
        (SIZES, {2: 4}, [case.end for case in SIZES]),
        (SIZES, {2: 7}, [case.end for case in SIZES]),
        (SIZES, {2: True}, [case.end for case in SIZES]),
        (SIZES, {}, [case.end for case in SIZES]),
        (MODES, {3: "mean"}, ["passed"] * 2),
        (MODES, {2: 2, 3: "mean"}, ["passed"] * 2),
        (MODES, {3: "last"}, [case.end for case in MODES]),
    ],
)
def test_a_call_is_compared_with_cases_of_its_positional_values_if_there_are_several(
    cases: list[EndedCase], arguments: dict[int, Any], ends: list[str]
) -> None:
    positional = cases[0].options.calls[0].positional if cases[0].options and cases[0].options.calls else 0
    assert [case.end for case in matching(CallSite(positional, {}, arguments), cases)] == ends


def test_a_case_that_calls_in_two_ways_is_no_evidence_of_one() -> None:
    calls = [CallOptions(positional=1), CallOptions(positional=3)]
    assert matching(CallSite(1, {}), [EndedCase("failed", CaseOptions(calls=calls))]) == []


def test_a_case_that_was_silently_accepted_is_in_no_count_and_has_a_sentence() -> None:
    condition = function_condition([case("passed"), case("failed"), case("accepted", "int8")])
    assert (condition.total, condition.failed, condition.accepted) == (2, 1, 1)
    assert "silently accepts what the host refuses in 1 case" in condition.sentences
    assert function_condition([case("accepted")]).accusing_sentences


@pytest.mark.parametrize(
    ("outcomes", "end"),
    [
        ([(Verdict.failed, Cause.silently_accepted), (Verdict.failed, Cause.silently_accepted)], "accepted"),
        ([(Verdict.failed, Cause.silently_accepted), (Verdict.passed, None)], "accepted"),
        ([(Verdict.failed, Cause.silently_accepted), (Verdict.failed, Cause.crash)], "failed"),
        ([(Verdict.failed, None)], "failed"),
    ],
)
def test_runs_that_were_all_silently_accepted_end_so(outcomes: list[tuple[Verdict, Cause | None]], end: End) -> None:
    runs = [(verdict, Placement.unknown, cause) for verdict, cause in outcomes]
    assert end_of_runs(runs, host_only=False) == end


def test_dtypes_are_said_that_cases_are_in_and_those_of_the_usual_ones_that_they_are_not_in() -> None:
    condition = function_condition([case("passed", "float32"), case("failed", "complex64")])
    assert condition.dtypes_tried == (
        "tried in complex64 and float32, not in float16, bfloat16, float64, int8, uint8, int32, int64 and bool"
    )
    assert dtypes_tried(USUAL_DTYPES).endswith("uint8")
    assert dtypes_tried([]) == "its cases do not say in which dtypes they are"
