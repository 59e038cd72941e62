"""The cases by hand of the suite ``library``: right on the CPU, and noticing what is slightly wrong."""

from __future__ import annotations

from protocol.enums import Ending, Verdict
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from runners.tensorflow.suites import library
from tests.frameworks.common.library import wrong_outcomes
from tests.frameworks.common.running import each, run
from tests.frameworks.tensorflow.arrays import ARRAYS
from tests.frameworks.tensorflow.wrappers import wrapper_of

FROZEN = {function.name for function in library.FUNCTIONS}
CASES = [case for case in FRAMEWORK.load_suites()["library"].cases if "by-hand" in case.tags]


def test_no_function_is_frozen_too() -> None:
    assert not {case.function for case in CASES} & FROZEN


def test_the_quick_form_has_them_all() -> None:
    quick = {case.id for case in FRAMEWORK.load_suites()["library_quick"].cases}
    assert quick.issuperset(case.id for case in CASES)


@each(CASES)
def test_it_is_right_on_the_cpu_twice(cpu: Device, case: Case) -> None:
    for _ in range(2):
        outcome = run(cpu, case)
        assert outcome.ending is Ending.returned, outcome.evidence
        assert outcome.verdict is Verdict.passed, outcome.evidence


@each(case for case in CASES if case.kind == "value")
def test_a_slightly_wrong_function_is_noticed(cpu: Device, case: Case) -> None:
    assert [name for name, survived in wrong_outcomes(cpu, case, ARRAYS, wrapper_of) if survived] == []
