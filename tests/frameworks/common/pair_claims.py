"""Tests of every framework's suite ``pairs``."""

from __future__ import annotations

from freezing.following.counts import pairs_of
from runners.suite.device import Device
from tests.frameworks.common import library, pairs
from tests.frameworks.common.right import assert_right
from tests.frameworks.common.running import cases
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject

SHARE = 4
"""One in this many cases is checked on the CPU, because some frameworks compile each case."""


def test_every_pair_is_right_on_the_cpu(cpu: Device, subject: Subject, selection: Selection) -> None:
    every = cases(subject.framework, suite=pairs.SUITE)
    check_cases(selection.drawn(every, SHARE, "pairs"), lambda case: assert_right(cpu, case, subject))


def test_it_has_hundreds_of_pairs_that_programs_have(subject: Subject) -> None:
    pairs.assert_hundreds_that_programs_have(subject.framework, pairs_of(subject.framework.name))


def test_its_files_are_small_and_count_what_is_left_out(subject: Subject) -> None:
    pairs.assert_reasons_are_counted(subject.framework)


def test_its_catalogue_is_read_without_the_framework(subject: Subject) -> None:
    library.assert_read_without_the_framework(subject.framework, suite=pairs.SUITE)
