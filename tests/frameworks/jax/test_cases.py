"""Every case is right on the CPU: the references and the function agree where nothing is in the way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from protocol.enums import Verdict
from runners.jax import FRAMEWORK
from runners.suite.cases import Case
from runners.suite.device import Device
from tests.frameworks.common.right import assert_charts_the_study, assert_known, assert_right, assert_unique
from tests.frameworks.common.running import cases, each, run

GONE: dict[str, str] = {
    "jax._src.core.get_aval": "jax.typeof",
    "jax.lax.infeed": "jax.experimental.io_callback",
}
"""Names as the paper printed them that this JAX does not have, and what stands for them today."""

FAULTY: dict[str, str] = {
    "jax.numpy.all/complex64-imaginary": "a number without a real part counts as false",
}
"""Cases that this JAX gets wrong on the CPU too, and how."""


@each(cases(FRAMEWORK))
def test_every_case_is_right_on_the_cpu(cpu: Device, case: Case) -> None:
    assert_right(cpu, case, gone=GONE, faulty=FAULTY)


def test_case_ids_are_unique() -> None:
    assert_unique(FRAMEWORK)


def test_everything_named_as_gone_or_faulty_is_charted() -> None:
    assert_known(FRAMEWORK, [*GONE, *FAULTY])


def test_the_functions_of_the_study_are_charted() -> None:
    assert_charts_the_study(FRAMEWORK)


@pytest.mark.parametrize("kind", [TypeError, ValueError, NotImplementedError])
def test_every_case_that_takes_an_error_for_an_answer_says_so(cpu: Device, kind: type[Exception]) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise kind("refused")

    behaviours = cases(FRAMEWORK, "behaviour")
    satisfied = [case.id for case in behaviours if run(cpu, replace(case, given=refuse)).verdict is Verdict.passed]
    marked = {case.id for case in behaviours if case.refuses}
    assert sorted(set(satisfied) - marked) == []
    assert kind is ValueError or satisfied


def test_every_case_that_is_marked_as_a_refusal_is_one(cpu: Device) -> None:
    for case in cases(FRAMEWORK):
        if case.refuses:
            given = replace(case, given=lambda *arguments, **options: None)
            assert run(cpu, given).verdict is Verdict.failed, case.id
