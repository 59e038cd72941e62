"""The answer to one question does not contradict the atlas: both are of the evidence that ships with Portolan."""

from __future__ import annotations

from coordinator.assess import evidence_file
from coordinator.assess.answers import Question, answer
from coordinator.atlas.marks import Mark, cell_of
from coordinator.targets.selectors import Selector


def test_no_function_works_that_the_atlas_marks_as_failing_or_falling_back() -> None:
    evidence = evidence_file.load_shipped()
    contradictions = []
    for target in evidence.targets:
        selector = Selector.parse(target.target)
        for function, cases in target.functions.items():
            cell = cell_of(cases)
            if cell is not None and cell.mark in (Mark.fails, Mark.falls_back):
                reply = answer(Question(function, selector), evidence)
                if reply.works or not reply.sentences:
                    contradictions.append((target.target, function, cell.mark, reply))
    assert contradictions == []
