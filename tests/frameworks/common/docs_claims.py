"""Tests of the frozen suite ``docs``: it is complete, right on the CPU, and detects a changed value."""

from __future__ import annotations

from runners.suite.device import Device
from tests.frameworks.common import docs, library
from tests.frameworks.common.right import assert_right
from tests.frameworks.common.running import cases
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject

SHARE = 12
"""The share of the examples that are changed. All are changed in the same way."""


def test_the_catalogue_is_read_without_the_framework(subject: Subject) -> None:
    library.assert_read_without_the_framework(subject.framework, *subject.brought, suite=docs.SUITE)


def test_the_files_are_small_and_name_their_release(subject: Subject) -> None:
    library.assert_small(subject.framework, docs.SUITE)


def test_every_public_name_is_charted_or_left_out_with_a_reason(subject: Subject) -> None:
    docs.assert_every_public_name_is_charted_or_left_out(subject.framework, docs.functions_of(subject.framework))


def test_what_is_left_out_is_counted_by_its_reason(subject: Subject) -> None:
    library.assert_reasons_are_counted(library.left_out_of(subject.framework, docs.SUITE))


def test_every_function_says_whether_it_is_compared(subject: Subject) -> None:
    docs.assert_says_what_is_compared(docs.functions_of(subject.framework))


def test_every_example_is_right_on_the_cpu(cpu: Device, subject: Subject, selection: Selection) -> None:
    every = cases(subject.framework, suite=docs.SUITE)
    check_cases(selection.drawn(every, subject.docs_share, "docs"), lambda case: assert_right(cpu, case, subject))


def test_an_example_with_another_value_is_noticed(cpu: Device, subject: Subject, selection: Selection) -> None:
    values = cases(subject.framework, "value", suite=docs.SUITE)
    drawn_cases = selection.drawn(values, SHARE, "docs with another value")
    check_cases(drawn_cases, lambda case: docs.assert_a_changed_value_is_noticed(cpu, case))
