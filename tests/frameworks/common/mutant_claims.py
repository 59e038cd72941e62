"""Tests that cases can fail: each detects when its function is slightly wrong, in the first call or later."""

from __future__ import annotations

from runners.suite.device import Device
from tests.frameworks.common.noticing import assert_clobbering_noticed, assert_noticed, assert_right_once_noticed
from tests.frameworks.common.running import cases
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject

SHARE = 8
"""The share of the cases that must detect one more mutant."""


def test_a_slightly_wrong_function_is_noticed(cpu: Device, subject: Subject, selection: Selection) -> None:
    drawn_cases = selection.drawn(cases(subject.framework, "value"), subject.mutants_share, "slightly wrong")
    check_cases(drawn_cases, lambda case: assert_noticed(cpu, case, subject))


def test_an_input_that_is_written_over_is_noticed(cpu: Device, subject: Subject, selection: Selection) -> None:
    changeable = [case for case in cases(subject.framework) if case.in_place is not True]
    drawn_cases = selection.drawn(changeable, SHARE, "written over")
    check_cases(drawn_cases, lambda case: assert_clobbering_noticed(cpu, case, subject))


def test_zeros_after_the_first_result_are_noticed(cpu: Device, subject: Subject, selection: Selection) -> None:
    drawn_cases = selection.drawn(cases(subject.framework), SHARE, "right once")
    check_cases(drawn_cases, lambda case: assert_right_once_noticed(cpu, case, subject))
