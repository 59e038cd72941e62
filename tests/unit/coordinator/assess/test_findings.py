"""Calls are compared with the cases of their functions. Cases that are similar to a call decide its finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from coordinator.assess.evidence import CaseEvidence
from coordinator.assess.findings import Assessment, Finding, assess
from coordinator.assess.names import Names
from coordinator.assess.report import kind_sentence
from coordinator.assess.sites import Certainty, Guard, GuardKind, Site, Use
from coordinator.assess.verdicts import Kind, Meets, Weight
from coordinator.results.conditions import UNKNOWN_VALUE
from protocol.enums import GRADIENT, REFUSES, Cause, Ending, InputKind, Judge
from tests.unit.coordinator.assess.cases import FUNCTION, assessment_of, case, several, site, source, target

GUARD = Guard(GuardKind.device, 3, 'x.device.type == "cuda"')


def only(assessment: Assessment) -> Finding:
    (finding,) = assessment.findings
    return finding


def test_a_function_whose_usual_cases_all_fail_is_a_finding() -> None:
    finding = only(assessment_of([*several(3, "usual", "failed"), case("complex", dtype="complex64")]))
    verdict = finding.verdict
    assert (verdict.kind, verdict.weight, verdict.meets) == (Kind.fails, Weight.finding, Meets.met)
    assert (verdict.failing, verdict.of, verdict.basis) == (3, 3, "cases like this call")
    assert verdict.causes == ("not_implemented",)
    assert verdict.said == "usual-0 said so"
    assert verdict.judges == "3 of 3 cases judged by an independent reference"


def test_a_function_whose_cases_all_pass_is_none() -> None:
    assessment = assessment_of(several(3, "usual"))
    assert assessment.findings == ()
    assert assessment.charted == {FUNCTION: 1}


@pytest.mark.parametrize("tag", [InputKind.empty, InputKind.zero_dim, GRADIENT])
def test_a_failure_on_input_that_no_call_shows_is_a_note(tag: str) -> None:
    finding = only(assessment_of([*several(3, "usual"), *several(5, "odd", "failed", tag)]))
    assert (finding.verdict.weight, finding.verdict.meets) == (Weight.note, Meets.not_met)


@pytest.mark.parametrize("dtype", ["complex64", "bool", "float16", "float8_e5m2"])
def test_a_failure_in_a_dtype_that_the_call_does_not_show_is_a_note(dtype: str) -> None:
    cases = [*several(3, "usual"), *several(5, "odd", "failed", dtype=dtype)]
    finding = only(assessment_of(cases))
    assert (finding.verdict.weight, finding.verdict.meets) == (Weight.note, Meets.not_met)
    assert finding.verdict.condition.startswith(f"in {dtype} (5 of 5)")


def test_a_failure_in_the_dtype_that_the_call_shows_is_a_finding() -> None:
    cases = [*several(3, "usual"), *several(5, "half", "failed", dtype="float16")]
    finding = only(assessment_of(cases, site(dtypes=["float16"])))
    assert (finding.verdict.weight, finding.verdict.meets) == (Weight.finding, Meets.met)
    assert finding.verdict.advice == ("passes in float32 (3 of 3 cases)",)


@pytest.mark.parametrize(("dtypes", "advice"), [(["float16"], ()), (["bool", "float16"], ("float16",))])
def test_a_dtype_is_advice_if_its_cases_have_the_other_dtypes_of_a_failing_case(
    dtypes: list[str], advice: tuple[str, ...]
) -> None:
    masked_cases = [_in(case, ["bool", "float32"]) for case in several(3, "mask", "fell_back")]
    half_cases = [_in(case, dtypes) for case in several(2, "half")]
    finding = only(assessment_of([*masked_cases, *half_cases], site(dtypes=["float32"])))
    assert finding.verdict.advice == tuple(f"passes in {dtype} (2 of 2 cases)" for dtype in advice)


def _in(case: CaseEvidence, dtypes: list[str]) -> CaseEvidence:
    assert case.options is not None
    return replace(case, options=case.options.model_copy(update={"dtypes": dtypes}))


@pytest.mark.parametrize(
    ("passing", "names", "weight"),
    [
        (5, ["float32-3", "float32-3-tails", "float32-3-sized-odd"], Weight.note),
        (5, ["float32-3", "float32-30", "float32-4"], Weight.finding),
        (3, ["float32-3", "float32-3-tails", "float32-3-sized-odd"], Weight.finding),
    ],
)
def test_variants_of_one_failing_case_are_one_case_unless_most_cases_fail(
    passing: int, names: list[str], weight: Weight
) -> None:
    cases = [case(name, "failed") for name in names]
    passing_cases = several(passing, "zero", "passed", InputKind.zero_dim)
    assert only(assessment_of([*cases, *passing_cases])).verdict.weight is weight


@pytest.mark.parametrize(
    ("names", "weight"), [(["3", "3-alike", "3-sized-odd"], Weight.note), (["3", "4", "5"], Weight.finding)]
)
def test_variants_of_one_failing_case_are_one_case_of_a_condition_too(names: list[str], weight: Weight) -> None:
    cases = [case(name, "failed", keywords={"rtol": 1.0}) for name in names]
    assessment = assessment_of([*cases, *several(9, "plain")], site(keywords={"rtol": 1e-6, "out": UNKNOWN_VALUE}))
    assert only(assessment).verdict.weight is weight


def test_variants_of_one_case_that_fall_back_are_a_finding() -> None:
    cases = [case(name, "fell_back") for name in ("float32-3", "float32-3-tails")]
    passing_cases = several(5, "zero", "passed", InputKind.zero_dim)
    assert only(assessment_of([*cases, *passing_cases])).verdict.weight is Weight.finding


@pytest.mark.parametrize(("last_word", "weight"), [("tails", Weight.note), ("negative", Weight.condition)])
@pytest.mark.parametrize("ending", [Ending.mismatched, Ending.raised])
def test_extreme_numbers_are_unlike_a_call(last_word: str, weight: Weight, ending: Ending) -> None:
    cases = [case(f"float32-{number}-{last_word}", "failed", ending=ending) for number in range(3)]
    assert only(assessment_of([*cases, *several(9, "plain")])).verdict.weight is weight


def test_a_fallback_with_extreme_numbers_is_like_a_call() -> None:
    cases = [case(f"float32-{number}-tails", "fell_back") for number in range(3)]
    assert only(assessment_of([*cases, *several(9, "plain")])).verdict.weight is Weight.condition


def test_what_is_silently_accepted_is_listed_after_other_conditions() -> None:
    some_cases = [*several(3, "some", "fell_back", keywords={"mode": "a"}), *several(3, "fine", keywords={"mode": "b"})]
    cases = {"torch.some": some_cases, "torch.takes": several(2, "odd", "accepted", REFUSES)}
    unknown_keywords = site("torch.some", positional=None)
    assessment = assessment_of(cases, site("torch.takes"), unknown_keywords)
    assert [finding.verdict.kind for finding in assessment.conditional] == [Kind.falls_back, Kind.accepts]


def test_integers_are_usual_where_a_function_takes_nothing_else() -> None:
    assert only(assessment_of(several(2, "index", "failed", dtype="int64"))).verdict.weight is Weight.finding


@pytest.mark.parametrize(("falling_back", "weight"), [(9, Weight.condition), (19, Weight.finding)])
def test_one_similar_case_of_few_that_passes_makes_a_condition(falling_back: int, weight: Weight) -> None:
    cases = [*several(falling_back, "usual", "fell_back"), case("other-size")]
    assert only(assessment_of(cases)).verdict.weight is weight


def test_a_single_case_is_not_shouted() -> None:
    verdict = only(assessment_of([case("alone", "failed")])).verdict
    assert (verdict.weight, verdict.why_note) == (Weight.note, "a single case says so")


def test_one_case_of_many_is_not_shouted() -> None:
    verdict = only(assessment_of([*several(9, "usual"), case("odd", "failed")])).verdict
    assert (verdict.weight, verdict.why_note) == (Weight.note, "a single case says so")


def test_values_that_differ_in_their_last_digits_are_a_note() -> None:
    cases = several(3, "usual", "failed", ending=Ending.mismatched, cause=Cause.precision)
    verdict = only(assessment_of(cases)).verdict
    assert (verdict.kind, verdict.weight) == (Kind.wrong, Weight.note)
    assert verdict.why_note.startswith("only the last digits differ")


def test_wrong_values_without_an_error_are_told_from_failures() -> None:
    cases = several(3, "usual", "failed", ending=Ending.mismatched, cause=Cause.assertion)
    verdict = only(assessment_of(cases)).verdict
    assert (verdict.kind, verdict.weight) == (Kind.wrong, Weight.finding)


def test_work_of_the_host_is_no_failure_of_a_device() -> None:
    assert assessment_of(several(3, "strings", "failed", cause=Cause.host_work)).findings == ()


def test_arity_decides_which_cases_count() -> None:
    """``torch.where(condition)`` returns an array whose size depends on values. With three arguments the size is
    fixed."""
    cases = [*several(3, "one", "fell_back", positional=1), *several(3, "three", positional=3)]
    alone = only(assessment_of(cases, site(positional=1))).verdict
    assert (alone.kind, alone.weight) == (Kind.falls_back, Weight.finding)
    three = only(assessment_of(cases, site(positional=3))).verdict
    assert (three.weight, three.meets) == (Weight.note, Meets.not_met)


def test_literal_keywords_decide_which_cases_count() -> None:
    cases = [
        *several(3, "bicubic", "fell_back", keywords={"mode": "bicubic"}),
        *several(3, "bilinear", keywords={"mode": "bilinear"}),
    ]
    met = only(assessment_of(cases, site(keywords={"mode": "bicubic"}))).verdict
    assert (met.weight, met.meets) == (Weight.finding, Meets.met)
    assert met.advice == ("passes with mode='bilinear' (3 of 3 cases)",)
    assert only(assessment_of(cases, site(keywords={"mode": "bilinear"}))).verdict.meets is Meets.not_met
    unsaid = only(assessment_of(cases, site(keywords={"mode": UNKNOWN_VALUE}))).verdict
    assert (unsaid.weight, unsaid.meets) == (Weight.condition, Meets.may_be_met)
    assert unsaid.condition == "with mode='bicubic' (3 of 3), not otherwise (0 of 3)"


def test_a_keyword_counts_also_where_the_call_gives_other_arguments_by_position() -> None:
    cases = [
        *several(3, "bicubic", "fell_back", positional=1, keywords={"size": None, "mode": "bicubic"}),
        *several(3, "bilinear", positional=1, keywords={"size": None, "mode": "bilinear"}),
    ]
    verdict = only(assessment_of(cases, site(positional=4, keywords={"mode": "bicubic"}))).verdict
    assert (verdict.weight, verdict.basis) == (Weight.finding, "cases with mode='bicubic'")


def test_a_value_that_is_handed_on_is_set_against_all_usual_cases() -> None:
    cases = [*several(3, "one", "failed", positional=1), *several(3, "three", "failed", positional=3)]
    verdict = only(assessment_of(cases, site(positional=None, use=Use.named))).verdict
    assert (verdict.weight, verdict.of, verdict.basis) == (Weight.finding, 6, "usual cases")


def test_what_is_slow_is_counted_from_what_any_call_costs_there() -> None:
    quick = {f"torch.quick{number}": several(2, "timed", ratio=40.0) for number in range(5)}
    functions = {**quick, FUNCTION: several(2, "timed", ratio=900.0)}
    sites = [site(name) for name in functions]
    finding = only(assessment_of(functions, *sites))
    assert (finding.verdict.kind, finding.verdict.function) == (Kind.slow, FUNCTION)
    assert finding.verdict.said == "900 times as long as on the CPU, where a usual call takes ×40"
    assert assessment_of(functions, *sites, slow=30.0).findings == ()


@pytest.mark.parametrize(("timed_cases", "weight"), [(1, Weight.note), (2, Weight.finding)])
def test_one_slow_case_is_not_shouted(timed_cases: int, weight: Weight) -> None:
    quick = {f"torch.quick{number}": several(2, "timed", ratio=1.0) for number in range(5)}
    functions = {**quick, FUNCTION: [*several(timed_cases, "timed", ratio=90.0), *several(3, "plain")]}
    assert only(assessment_of(functions, *map(site, functions))).verdict.weight is weight


def test_a_target_that_is_quicker_than_the_cpu_calls_nothing_slow_that_is_as_quick_as_the_cpu() -> None:
    quick = {f"torch.quick{number}": several(2, "timed", ratio=0.05) for number in range(5)}
    functions = {**quick, FUNCTION: several(2, "timed", ratio=1.0)}
    assert assessment_of(functions, *map(site, functions)).findings == ()


def test_places_of_one_verdict_are_one_finding_and_others_another() -> None:
    cases = [*several(3, "one", "failed", positional=1), *several(3, "three", positional=3)]
    sites = [site(line=1), site(line=2), site(line=3, positional=3), site(line=4, positional=3)]
    findings = assessment_of(cases, *sites).findings
    assert [[place.line for place in finding.places] for finding in findings] == [[1, 2], [3, 4]]


def test_guarded_places_come_last_and_are_not_serious() -> None:
    functions = {FUNCTION: several(3, "usual", "failed"), "torch.bar": several(3, "usual", "fell_back")}
    assessment = assessment_of(functions, site(guards=[GUARD]), site("torch.bar"))
    assert [finding.verdict.function for finding in assessment.findings] == ["torch.bar", FUNCTION]
    assert [finding.verdict.function for finding in assessment.serious] == ["torch.bar"]


def test_places_that_the_target_may_never_reach_come_last() -> None:
    places = [site(line=1, guards=[GUARD]), site(line=2), replace(site(line=3), reached=False), site(line=4)]
    assert [place.line for place in only(assessment_of(several(3, "a", "failed"), *places)).places] == [2, 4, 1, 3]


def test_places_in_layers_and_steps_come_before_others_and_guesses_come_after() -> None:
    places = [
        site(line=1, within="Net.forward", certainty=Certainty.guessed),
        site(line=2, within="build_graph"),
        site(line=3, within="training_step"),
        site(line=4, within="Net.forward.attend"),
    ]
    assert [place.line for place in only(assessment_of(several(3, "a", "failed"), *places)).places] == [3, 4, 2, 1]


def test_one_place_without_a_guard_makes_a_finding_serious() -> None:
    assessment = assessment_of(several(3, "usual", "failed"), site(guards=[GUARD]), site(line=2))
    assert len(assessment.serious) == 1


def test_the_worst_comes_first_and_a_guess_after_what_is_known() -> None:
    functions = {
        "torch.slow": several(3, "usual", "fell_back"),
        "torch.wrong": several(3, "usual", "failed", ending=Ending.mismatched, cause=Cause.assertion),
        "torch.guess": several(3, "usual", "failed"),
        "torch.fails": several(3, "usual", "failed"),
    }
    sites = [site(name, certainty=Certainty.guessed if "guess" in name else Certainty.resolved) for name in functions]
    assessment = assessment_of(functions, *sites)
    order = [finding.verdict.function for finding in assessment.findings]
    assert order == ["torch.wrong", "torch.fails", "torch.guess", "torch.slow"]
    assert [finding.is_guessed for finding in assessment.findings] == [False, False, True, False]


def test_what_nobody_charted_is_counted_beside() -> None:
    assessment = assessment_of(several(3, "usual"), site("torch.bar"), site("torch.bar", 2), site("torch.baz"))
    assert assessment.findings == ()
    assert assessment.unknown == {"torch.bar": 2, "torch.baz": 1}
    assert list(assessment.unknown) == ["torch.bar", "torch.baz"]


def test_a_method_has_the_cases_of_the_function_that_does_the_same() -> None:
    cases = {"torch.topk": [*several(2, "two", "failed", positional=2), *several(2, "three", positional=3)]}
    met = only(assessment_of(cases, site("torch.Tensor.topk", positional=1))).verdict
    assert (met.function, met.charted_as, met.weight) == ("torch.Tensor.topk", "torch.topk", Weight.finding)
    assert only(assessment_of(cases, site("torch.Tensor.topk", positional=2))).verdict.weight is Weight.note


def test_a_methods_arguments_are_those_after_the_first_of_the_function_that_does_the_same() -> None:
    of_function = [
        *several(2, "three", "failed", positional=2, arguments={"2": 3}),
        *several(2, "one", positional=2, arguments={"2": 1}),
    ]
    weights = [
        only(assessment_of({"torch.topk": of_function}, site("torch.Tensor.topk", arguments={1: k}))).verdict.weight
        for k in (3, 1, 5)
    ]
    assert weights == [Weight.finding, Weight.note, Weight.condition]


def test_a_method_that_each_case_of_its_class_calls_has_the_cases_of_the_class() -> None:
    cases = {"torch.optim.Adam": several(3, "usual", "failed", positional=2)}
    step = only(assessment_of(cases, site("torch.optim.Adam.step", positional=0))).verdict
    assert (step.function, step.charted_as, step.failing, step.of) == (
        "torch.optim.Adam.step",
        "torch.optim.Adam",
        3,
        3,
    )
    scaler = {"torch.GradScaler": several(3, "usual", "failed", positional=1)}
    assert assessment_of(scaler, site("torch.GradScaler.unscale_")).unknown == {}
    schedule = {"torch.optim.lr_scheduler.StepLR": several(3, "usual", "failed", positional=1)}
    assert assessment_of(schedule, site("torch.optim.lr_scheduler.StepLR.step")).unknown == {}
    assert assessment_of(cases, site("torch.optim.Adam.state_dict")).unknown == {"torch.optim.Adam.state_dict": 1}


def test_the_judge_is_named_where_it_is_the_same_framework() -> None:
    verdict = only(assessment_of(several(3, "usual", "failed", judged_by=Judge.itself))).verdict
    assert verdict.judges == "judged only by the same framework"


def test_a_single_case_like_the_call_is_a_finding_where_all_others_of_the_function_fail_as_well() -> None:
    cases = [case("usual", "failed"), *several(4, "double", "failed", dtype="float64")]
    verdict = only(assessment_of(cases)).verdict
    assert (verdict.weight, verdict.failing, verdict.of) == (Weight.finding, 5, 5)
    assert only(assessment_of([*cases, *several(4, "half", dtype="float16")])).verdict.weight is Weight.note


def _weight(place: Site, *others: Site, device: str = "xla") -> tuple[Weight, str]:
    cases = {FUNCTION: several(3, "usual", "fell_back")}
    names = Names(frozenset(cases))
    finding = assess(source(place, *others), target(cases, device=device), names).findings[0]
    return finding.verdict.weight, finding.verdict.why_note


@pytest.mark.parametrize(
    ("is_on_device", "device", "weight"),
    [
        (True, "xla", Weight.note),
        (False, "xla", Weight.finding),
        (True, "cuda", Weight.finding),
        (False, "cuda", Weight.note),
        (True, "tpu", Weight.note),
    ],
)
def test_a_place_in_a_branch_for_another_device_is_a_note(is_on_device: bool, device: str, weight: Weight) -> None:
    guard = Guard(GuardKind.device, 3, "x.is_cuda", "cuda", is_on_device)
    assert _weight(site(guards=[guard]), device=device)[0] is weight


def test_a_guard_that_the_target_passes_does_not_mark_a_finding() -> None:
    guard = Guard(GuardKind.device, 3, "x.is_cuda", "cuda", False)
    assert not only(assessment_of(several(3, "usual", "fell_back"), site(guards=[guard]))).is_guarded


def test_a_call_on_arrays_of_the_host_is_a_note() -> None:
    on_host = replace(site(), is_on_host=True)
    assert _weight(on_host) == (Weight.note, "its arrays stay on the host, as far as the source shows")
    assert _weight(replace(on_host, certainty=Certainty.recorded))[0] is Weight.finding
    assert _weight(on_host, site("torch.set_default_device", line=9))[0] is Weight.finding


def normalization(*more_cases: CaseEvidence) -> list[CaseEvidence]:
    """The cases of a normalization of which the buffers are wrong, if it has three arguments or fewer."""
    wrong = {"ending": Ending.mismatched, "cause": Cause.assertion}
    return [
        *(case(f"{count}-eval", positional=count) for count in (1, 3, 4)),
        *(case(f"{count}-train", "passed", "train", positional=count) for count in (1, 3, 4)),
        case("1-train-gradient", "passed", "train", GRADIENT),
        *(
            case(f"{count}-train-{end}", "failed", "train", "buffers", positional=count, **wrong)
            for count in (1, 3)
            for end in ("buffers", "later-buffers")
        ),
        *more_cases,
    ]


@pytest.mark.parametrize(
    ("call", "weight"),
    [
        (site(positional=1), Weight.finding),
        (site(positional=1, keywords={"eps": 0.1}), Weight.finding),
        (site(positional=3), Weight.finding),
        (site(positional=None, use=Use.named), Weight.finding),
        (site(positional=4), Weight.note),
    ],
)
def test_a_module_whose_buffers_are_wrong_in_training_is_a_finding(call: Site, weight: Weight) -> None:
    verdict = only(assessment_of(normalization(), call)).verdict
    assert (verdict.kind, verdict.weight) == (Kind.wrong, weight)
    assert verdict.basis.endswith("in training") == (weight is Weight.finding)


@pytest.mark.parametrize(
    ("keywords", "weight"),
    [
        ({"momentum": UNKNOWN_VALUE}, Weight.finding),
        ({"eps": 1e-3, "momentum": 0.01}, Weight.finding),
        ({"track": False}, Weight.condition),
        ({"kind": "running"}, Weight.condition),
    ],
)
def test_a_number_passed_by_name_does_not_decide_whether_a_module_has_buffers(
    keywords: dict[str, object], weight: Weight
) -> None:
    # The passing case, which has four arguments, differs from the failing ones in its dtypes too.
    cases = [one if "/4" in one.case else _in(one, ["float32", "int64"]) for one in normalization()]
    verdict = only(assessment_of(cases, site(positional=1, keywords=keywords))).verdict
    assert (verdict.kind, verdict.weight) == (Kind.wrong, weight)


def test_a_module_whose_buffers_are_right_in_some_cases_like_the_call_is_no_finding() -> None:
    right = case("1-train-nan-buffers", "passed", "train", "buffers")
    assert only(assessment_of(normalization(right))).verdict.weight is not Weight.finding


BACKWARD, FORWARD = "aten::foo_backward", "aten::foo"


def falling_back(name: str, *operations: str, backward: bool = True, **options: Any) -> CaseEvidence:
    tags = (GRADIENT,) if backward else ()
    return replace(case(name, "fell_back", *tags, **options), operations=operations)


def in_trained_function(cases: Sequence[CaseEvidence], call: Site) -> Finding:
    assessed_source = source(call, trained_functions=frozenset({"train.step"}))
    return only(assess(assessed_source, target({call.function: cases}), Names(frozenset({call.function}))))


def backward_cases(*operations: str, **options: Any) -> list[CaseEvidence]:
    return [
        *several(3, "usual", **options),
        *(falling_back(f"float32-{number}-gradient", *operations, **options) for number in range(2)),
    ]


def test_a_call_of_which_the_backward_pass_falls_back_is_a_finding_where_a_step_trains() -> None:
    finding = in_trained_function(backward_cases(BACKWARD), site())
    verdict = finding.verdict
    assert (verdict.kind, verdict.weight, verdict.backward) == (Kind.falls_back, Weight.finding, True)
    assert kind_sentence(finding) == "runs on the host in 2 of 2 cases like this call with the backward pass"


def test_a_module_of_which_the_backward_pass_is_wrong_is_a_finding_wherever_it_is_named() -> None:
    wrong = [
        case(
            f"float32-{number}-train-gradient",
            "failed",
            GRADIENT,
            positional=0,
            ending=Ending.mismatched,
            cause=Cause.assertion,
        )
        for number in range(2)
    ]
    call = site("torch.nn.Foo", positional=None, use=Use.named, within="")
    verdict = in_trained_function([*several(3, "usual", positional=0), *wrong], call).verdict
    assert (verdict.kind, verdict.weight, verdict.backward) == (Kind.wrong, Weight.finding, True)


@pytest.mark.parametrize(
    ("cases", "call"),
    [
        (backward_cases(BACKWARD), site(within="helper")),
        (backward_cases(BACKWARD), replace(site(), has_gradient=False)),
        (backward_cases(BACKWARD, positional=7), site()),
        (backward_cases(BACKWARD)[:-1], site()),
        ([*backward_cases(FORWARD, BACKWARD), falling_back("odd", FORWARD, backward=False)], site()),
        ([*backward_cases(), *(falling_back(f"float32-{number}", backward=False) for number in range(2))], site()),
    ],
    ids=[
        "not trained",
        "no gradient",
        "other arguments",
        "a single case",
        "operation of the forward pass",
        "same case",
    ],
)
def test_a_backward_pass_that_falls_back_elsewhere_is_no_finding(cases: Sequence[CaseEvidence], call: Site) -> None:
    assert in_trained_function(cases, call).verdict.weight is not Weight.finding


@pytest.mark.parametrize(
    ("mode", "weight"), [("bilinear", Weight.finding), ("area", Weight.note), ("nearest", Weight.note)]
)
def test_one_shared_keyword_is_enough_if_all_cases_with_it_have_the_result(mode: str, weight: Weight) -> None:
    cases = [
        *several(3, "usual", keywords={"mode": "bilinear", "scale": None}),
        falling_back("float32-0-gradient", BACKWARD, keywords={"mode": "bilinear", "corners": True}),
        falling_back("float32-1-gradient", BACKWARD, keywords={"mode": "bilinear", "corners": False}),
        falling_back("float32-2-gradient", BACKWARD, keywords={"mode": "nearest"}),
        case("float32-3-gradient", "passed", GRADIENT, keywords={"mode": "area", "corners": True}),
    ]
    call = site(positional=2, keywords={"mode": mode, "corners": True, "size": UNKNOWN_VALUE})
    assert in_trained_function(cases, call).verdict.weight is weight


def test_a_single_case_like_the_call_is_enough_if_all_backward_passes_have_the_result() -> None:
    cases = [
        *several(3, "usual", keywords={"alpha": 2.0}),
        falling_back("float32-0-gradient", BACKWARD),
        falling_back("float32-1-gradient", BACKWARD, keywords={"alpha": 2.0}),
    ]
    finding = in_trained_function(cases, site())
    assert kind_sentence(finding) == "runs on the host in 2 of 2 cases of any kind with the backward pass"


def test_a_finding_about_a_fallback_says_whether_the_backward_pass_falls_back_too() -> None:
    forward_cases = [falling_back(f"usual-{number}", FORWARD, backward=False) for number in range(2)]
    both = in_trained_function([*forward_cases, *backward_cases(FORWARD, BACKWARD)[3:]], site())
    assert kind_sentence(both) == "runs on the host in 2 of 2 cases like this call, and so does the backward pass"
    forward = in_trained_function([*forward_cases, *backward_cases(FORWARD)[3:]], site())
    assert kind_sentence(forward) == "runs on the host in 2 of 2 cases like this call"


def test_a_class_that_keeps_no_buffers_by_default_is_no_finding_where_it_is_passed_on() -> None:
    cases = [case("0-train", "passed", "train", positional=0), *normalization()]
    assert only(assessment_of(cases, site(positional=None, use=Use.named))).verdict.weight is not Weight.finding
