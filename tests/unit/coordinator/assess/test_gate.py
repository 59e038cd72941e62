"""The gate of an assessment, and findings that comments and baselines silence before it."""

from __future__ import annotations

import pytest

from coordinator.assess.gate import Gate
from coordinator.assess.report import kind_sentence
from coordinator.assess.silencing import baseline_of, ignores, read_baseline, silence
from coordinator.assess.sites import Guard, GuardKind
from coordinator.assess.verdicts import Kind
from coordinator.errors import AssessmentError
from protocol.enums import Cause
from tests.unit.coordinator.assess.cases import FUNCTION, assessment_of, case, several, site

FAILING = several(3, "usual", "failed")
CODE = {1: "y = foo(x)", 2: f"y = foo(x)  # portolan: ignore[{FUNCTION}] only on the host", 3: "y = foo(x)"}


def line_of(path: str, number: int) -> str:
    return CODE.get(number, "")


@pytest.mark.parametrize(
    ("text", "kinds", "slow"),
    [
        ("wrong,fails", {Kind.wrong, Kind.fails}, 10.0),
        (" falls-back , slow:2.5 ", {Kind.falls_back, Kind.slow}, 2.5),
        ("slow", {Kind.slow}, 10.0),
    ],
)
def test_kinds_are_parsed(text: str, kinds: set[Kind], slow: float) -> None:
    gate = Gate.parse(text)
    assert (gate.kinds, gate.slow) == (kinds, slow)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no kind: choose from"),
        (" ,", "names no kind: choose from"),
        ("wron", "did you mean wrong?"),
        ("fails:3", "is not a kind of finding"),
        ("slow:", "give a factor of 1 or more"),
        ("slow:0.5", "give a factor of 1 or more"),
        ("slow:inf", "give a factor of 1 or more"),
        ("slow:nan", "give a factor of 1 or more"),
    ],
)
def test_a_word_that_is_no_kind_is_refused(text: str, message: str) -> None:
    with pytest.raises(AssessmentError) as excinfo:
        Gate.parse(text)
    assert message in str(excinfo.value)


def test_only_the_kinds_that_were_asked_for_fail() -> None:
    assessment = assessment_of(FAILING)
    assert len(Gate.parse("fails").failing(assessment)) == 1
    assert Gate.parse("wrong,falls-back,slow").failing(assessment) == ()
    assert Gate().failing(assessment) == ()


def test_what_is_unknown_guarded_or_only_a_note_does_not_fail() -> None:
    gate = Gate.parse("wrong,fails,falls-back,slow")
    guard = Guard(GuardKind.failure, 1, "except RuntimeError")
    assert gate.failing(assessment_of(FAILING, site(guards=[guard]))) == ()
    assert gate.failing(assessment_of(FAILING, site("torch.bar"))) == ()
    assert gate.failing(assessment_of([*several(3, "usual"), case("odd", "failed")])) == ()


@pytest.mark.parametrize(
    ("line", "is_ignored"),
    [
        ("foo(x)  # portolan: ignore[torch.foo] why", True),
        ("foo(x)  # portolan:ignore[torch.bar, torch.foo]", True),
        ("foo(x)  # portolan: ignore[torch.*] all", True),
        ("foo(x)  # portolan: ignore[torch.fo] another", False),
        ("foo(x)  # portolan: ignore", False),
        ("foo(  # portolan: ignore[torch.bar]\n)  # portolan: ignore[torch.foo] why", True),
        ("foo(x)  # ignore[torch.foo]", False),
    ],
)
def test_comments_name_the_functions_that_they_ignore(line: str, is_ignored: bool) -> None:
    assert ignores(line, "torch.foo") is is_ignored


def test_a_comment_silences_its_own_line_alone() -> None:
    silence_result = silence(assessment_of(FAILING, site(line=1), site(line=2)), line_of)
    (finding,) = silence_result.assessment.findings
    assert [place.line for place in finding.places] == [1]
    assert (silence_result.ignored, silence_result.known) == (1, 0)
    assert silence(assessment_of(FAILING, site(line=2)), line_of).assessment.findings == ()


def test_a_baseline_silences_what_it_has_wherever_its_lines_moved_to() -> None:
    before = baseline_of(assessment_of(FAILING, site(line=1), site(line=3)), "torch/xla")
    baseline = read_baseline(before.model_dump_json().encode(), "b.json", "torch/xla")
    silence_result = silence(assessment_of(FAILING, site(line=11), site(line=13)), line_of, baseline)
    assert (silence_result.assessment.findings, silence_result.known) == ((), 2)


def test_one_more_place_in_the_same_function_is_new() -> None:
    baseline = baseline_of(assessment_of(FAILING, site(line=1)), "torch/xla")
    silence_result = silence(assessment_of(FAILING, site(line=1), site(line=3)), line_of, baseline)
    (finding,) = silence_result.assessment.findings
    assert [place.line for place in finding.places] == [3]


def test_the_same_in_another_function_is_new() -> None:
    baseline = baseline_of(assessment_of(FAILING, site(within="step")), "torch/xla")
    assert silence(assessment_of(FAILING, site(within="other")), line_of, baseline).known == 0


def test_a_file_that_is_no_baseline_or_of_another_target_is_refused() -> None:
    other = baseline_of(assessment_of(FAILING), "torch/tpu").model_dump_json().encode()
    with pytest.raises(AssessmentError, match=r"b\.json is a baseline of torch/tpu, not of torch/xla"):
        read_baseline(other, "b.json", "torch/xla")
    for content in (b"", b"[]", other.replace(b"torch/tpu", b"torch/xla").replace(b'"format":1', b'"format":2')):
        with pytest.raises(AssessmentError, match=r"b\.json is not a baseline"):
            read_baseline(content, "b.json", "torch/xla")


def test_what_is_silently_accepted_fails_a_check_that_asks_for_it_and_no_other() -> None:
    assessment = assessment_of([case("a"), case("far", "accepted", cause=Cause.silently_accepted)])
    assert not assessment.serious
    assert not Gate.parse("wrong,fails,falls-back,slow").failing(assessment)
    (finding,) = Gate.parse("accepts").failing(assessment)
    assert kind_sentence(finding) == "silently accepts what the host refuses in 1 case"
