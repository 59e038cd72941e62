"""Tests of every case of a suite: it is right on the CPU, its id is unique, and every function of the study has
cases."""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.device import Device
from tests.frameworks.common.right import assert_charts_the_study, assert_known, assert_right, assert_unique
from tests.frameworks.common.running import cases
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject


def test_every_case_is_right_on_the_cpu(cpu: Device, subject: Subject, selection: Selection) -> None:
    """The references agree with the function where no other device is involved."""
    check_cases(selection.every(cases(subject.framework)), lambda case: assert_right(cpu, case, subject))


def test_case_ids_are_unique(subject: Subject) -> None:
    assert_unique(subject.framework)


def test_the_functions_of_the_study_are_charted(subject: Subject) -> None:
    assert_charts_the_study(subject.framework)


def test_every_exception_names_a_case_or_a_function_that_is_charted(subject: Subject) -> None:
    assert_known(subject.framework, subject.exceptions())


def test_the_suites_of_many_small_calls_declare_that_they_are_untimed(subject: Subject) -> None:
    suites = subject.framework.load_suites()
    timings = {name: (suite.timing, suite.timed_cases) for name, suite in suites.items()}
    verdicts_only = TimingPolicy.off, TimedCases.representative
    assert timings == {
        "paper": (TimingPolicy.steady, TimedCases.all),
        **dict.fromkeys(("docs", "library", "library_quick", "pairs"), verdicts_only),
    }
