"""The chart of the toy is honest: what is there passes, what is missing raises, what falls back is counted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from protocol.outcomes import Outcome
from protocol.words import Ending, Placement, Verdict
from runners.cases import Function
from runners.devices import Device

OutcomeOf = Callable[..., Outcome]


def argsort() -> Function:
    function = Function("torch.argsort", reference=np.argsort)
    function.value("distinct", lambda make: (make.distinct(6),))
    return function


def test_an_addition_stays_on_the_device(toy: Device, outcome_of: OutcomeOf) -> None:
    add = Function("torch.add", reference=np.add)
    add.value("plain", lambda make: (make.normal(4), make.normal(4)))
    outcome = outcome_of(toy, add)
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.on_device)
    assert outcome.proof.devices == ["toy:0"]
    assert outcome.proof.fallbacks == {}


def test_an_operation_without_a_kernel_is_missing_in_the_words_of_torch(toy: Device, outcome_of: OutcomeOf) -> None:
    tangent = Function("torch.tan", reference=np.tan)
    tangent.value("plain", lambda make: (make.normal(4),))
    outcome = outcome_of(toy, tangent)
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.raised)
    assert outcome.evidence is not None
    assert outcome.evidence.exception == "builtins.NotImplementedError"
    assert str(outcome.evidence.message).startswith(
        "Could not run 'aten::tan.out' with arguments from the 'toy' backend"
    )


def test_sorting_is_right_and_seen_to_fall_back(toy: Device, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(toy, argsort())
    assert (outcome.verdict, outcome.placement) == (Verdict.passed, Placement.fell_back)
    assert outcome.proof.fallbacks == {"aten::sort": 1}
    assert outcome.proof.devices == ["toy:0"], "its arrays alone would not tell"


def test_a_fallback_is_not_blamed_on_the_next_case(toy: Device, outcome_of: OutcomeOf) -> None:
    negative = Function("torch.neg", reference=np.negative)
    negative.value("plain", lambda make: (make.normal(4),))
    assert outcome_of(toy, argsort()).placement is Placement.fell_back
    assert outcome_of(toy, negative).placement is Placement.on_device


def test_a_result_is_never_written_into_less_or_more_than_its_own_room(toy: Device, outcome_of: OutcomeOf) -> None:
    import torch

    given = toy.put(np.ones(3), "float32")
    outcome = Function("torch.exp", reference=np.exp, prepare=lambda on, values: lambda: on.function(values, out=room))
    outcome.value("out", lambda make: (make.normal(3),))
    room = torch.zeros(2, 3, device=given.device)
    assert outcome_of(toy, outcome).verdict is Verdict.failed
    assert toy.take(room).values.tolist() == [[0, 0, 0], [0, 0, 0]]
