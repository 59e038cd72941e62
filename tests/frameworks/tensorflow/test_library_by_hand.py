"""The handwritten cases of the suite ``library`` are right on the CPU, and detect slightly wrong functions."""

from __future__ import annotations

from runners.suite.cases import Case
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from runners.tensorflow.suites import library
from tests.frameworks.common.library import wrong_outcomes
from tests.frameworks.common.right import assert_right
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject

FROZEN = {function.name for function in library.FUNCTIONS}
CASES = [case for case in FRAMEWORK.load_suites()["library"].cases if "by-hand" in case.tags]
SHARE = 4


def test_no_function_is_frozen_too() -> None:
    assert not {case.function for case in CASES} & FROZEN


def test_the_quick_form_has_them_all() -> None:
    quick = {case.id for case in FRAMEWORK.load_suites()["library_quick"].cases}
    assert quick.issuperset(case.id for case in CASES)


def test_each_is_right_on_the_cpu_twice(cpu: Device, subject: Subject, selection: Selection) -> None:
    """The second run detects state that the first has left in the process."""

    def assert_right_twice(case: Case) -> None:
        for _ in range(2):
            assert_right(cpu, case, subject)

    check_cases(selection.drawn(CASES, SHARE, "by hand"), assert_right_twice)


def test_a_slightly_wrong_function_is_noticed(cpu: Device, subject: Subject, selection: Selection) -> None:
    def assert_noticed(case: Case) -> None:
        outcomes = wrong_outcomes(cpu, case, subject)
        assert [name for name, has_survived in outcomes if has_survived] == []

    values = [case for case in CASES if case.kind == "value"]
    check_cases(selection.drawn(values, SHARE, "by hand slightly wrong"), assert_noticed)
