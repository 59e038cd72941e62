"""The answer to a single question agrees with the atlas, because both come from the evidence that ships with
Portolan."""

from __future__ import annotations

from dataclasses import replace

from coordinator.assess import evidence_file
from coordinator.assess.answers import Question, answer
from coordinator.assess.evidence import EvidenceSet
from coordinator.atlas.marks import Mark, cell_of
from coordinator.targets.selectors import Selector
from protocol.enums import GRADIENT
from tests.unit.coordinator.assess.cases import case, several, target


def test_a_single_case_in_a_dtype_is_no_yes_if_cases_in_other_dtypes_fall_back() -> None:
    falls_back = [*several(3, "plain", "fell_back"), *several(3, "replacing", keywords={"replacement": True})]
    functions = {
        "torch.multinomial": [*falls_back, case("half", dtype="float16", keywords={"replacement": True})],
        "torch.cumsum": [*several(3, "plain"), case("half", dtype="float16")],
    }
    evidence = EvidenceSet((target(functions),), "from a file")
    reply = answer(Question("torch.multinomial", Selector.parse("torch/xla"), "float16"), evidence)
    assert (reply.word, reply.failing, reply.of) == ("it depends", 3, 6)
    assert reply.sentences[0] == "only 1 case of torch.multinomial is in float16, and it passes"
    assert "runs on the host in 3 of 6 usual cases" in reply.sentences[1]
    assert answer(Question("torch.cumsum", Selector.parse("torch/xla"), "float16"), evidence).word == "yes"


def test_an_answer_depends_on_gradients_if_only_the_backward_pass_falls_back() -> None:
    backward_cases = [
        replace(one, operations=("glu_backward",)) for one in several(2, "gradient", "fell_back", GRADIENT)
    ]
    evidence = EvidenceSet((target({"torch.glu": [*several(3, "plain"), *backward_cases]}),), "from a file")
    reply = answer(Question("torch.glu", Selector.parse("torch/xla")), evidence)
    assert (reply.word, reply.failing, reply.of) == ("it depends", 2, 2)
    assert reply.sentences == ("torch.glu runs on the host in 2 of 2 cases like this call with the backward pass",)


def test_no_function_works_that_the_atlas_marks_as_failing_or_falling_back() -> None:
    evidence = evidence_file.load_shipped()
    contradictions = []
    for charted_target in evidence.targets:
        selector = Selector.parse(charted_target.target)
        for function, cases in charted_target.functions.items():
            cell = cell_of(cases)
            if cell is not None and cell.mark in (Mark.fails, Mark.falls_back):
                reply = answer(Question(function, selector), evidence)
                if reply.works or not reply.sentences:
                    contradictions.append((charted_target.target, function, cell.mark, reply))
    assert contradictions == []


def test_on_a_target_that_only_lowers_programs_nothing_is_said_to_work_or_to_fail() -> None:
    evidence = evidence_file.load_shipped()
    lowered_targets = [charted_target for charted_target in evidence.targets if charted_target.is_lowered]
    assert lowered_targets
    for charted_target in lowered_targets:
        selector = Selector.parse(charted_target.target)
        functions = charted_target.functions
        lacking = [name for name, cases in functions.items() if any(one.end == "failed" for one in cases)]
        replies = [answer(Question(name, selector), evidence) for name in (*lacking, *list(functions)[:20])]
        assert {"unknown", "no"} <= {reply.word for reply in replies} <= {"unknown", "no", "it depends"}
        for reply in replies:
            assert all("lowering in " in text or "is lowered in " in text for text in reply.sentences), reply
