"""Every case is right on the CPU: the references and the function agree where nothing is in the way."""

from __future__ import annotations

from runners.suite.cases import Case
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from tests.framework.right import assert_charts_the_study, assert_known, assert_right, assert_unique
from tests.framework.running import cases, each

NEEDS_CUDA = {
    "torch.cuda": "CUDA alone has it",
    "torch.cuda.synchronize": "CUDA alone has it",
}
"""Functions whose calls run as written and must fail on a machine without CUDA."""

GONE = {
    "torch.von_mises.VonMises": "today's is torch.distributions.VonMises",
}
"""Names as the paper printed them that this torch does not have."""


@each(cases(FRAMEWORK))
def test_every_case_is_right_on_the_cpu(cpu: Device, case: Case) -> None:
    assert_right(cpu, case, gone=GONE, raising=NEEDS_CUDA)


def test_case_ids_are_unique() -> None:
    assert_unique(FRAMEWORK)


def test_every_function_named_as_an_exception_is_charted() -> None:
    assert_known(FRAMEWORK, [*GONE, *NEEDS_CUDA])


def test_the_functions_of_the_study_are_charted() -> None:
    assert_charts_the_study(FRAMEWORK)
