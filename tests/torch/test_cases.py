"""Every case is right on the CPU: the references and the function agree where nothing is in the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol.outcomes import Outcome
from protocol.words import Ending
from runners import torch as framework
from runners.cases import Case
from runners.devices import Device

NEEDS_CUDA = {
    "torch.cuda": "CUDA alone has it",
    "torch.cuda.synchronize": "CUDA alone has it",
}
"""Functions whose calls run as written and must fail on a machine without CUDA."""

GONE = {
    "torch.von_mises.VonMises": "today's is torch.distributions.VonMises",
}
"""Names as the paper printed them that this torch does not have."""


def cases() -> list[Case]:
    return [case for function in framework.suites()["paper"] for case in function.cases]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_every_case_is_right_on_the_cpu(cpu: Device, outcome_of: Callable[..., Outcome], case: Case) -> None:
    outcome = outcome_of(cpu, case)
    if case.function in GONE:
        assert outcome.ending is Ending.removed
    elif case.function in NEEDS_CUDA:
        assert outcome.ending is Ending.raised
    else:
        assert outcome.ending is Ending.returned, outcome.evidence


def test_case_ids_are_unique() -> None:
    ids = [case.id for case in cases()]
    assert len(ids) == len(set(ids))
