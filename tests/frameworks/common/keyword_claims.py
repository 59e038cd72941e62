"""Tests of the arguments in cases: some case passes each keyword that affects values, and each function of floats gets
NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from runners.suite.cases import Case
from runners.suite.device import Device
from tests.each import check_each
from tests.frameworks.common.keywords import Recorder
from tests.frameworks.common.nans import assert_fed
from tests.frameworks.common.running import cases, run
from tests.frameworks.common.selection import Selection
from tests.frameworks.common.subject import Subject

SHARE = 4
"""The share of the functions that are tested. All calls of each are recorded."""


def function_of(cases: Sequence[Case]) -> str:
    return cases[0].function


def test_every_keyword_that_decides_values_is_given(cpu: Device, subject: Subject, selection: Selection) -> None:
    groups = selection.by_function(cases(subject.framework), SHARE, "keywords")
    check_each(groups, lambda group: assert_given(cpu, group, subject), name=function_of)


def test_every_function_on_floats_is_fed_nan(subject: Subject, selection: Selection) -> None:
    groups = selection.by_function(cases(subject.framework), 1, "NaN")
    check_each(groups, lambda group: assert_fed(group, subject.not_fed), name=function_of)


def test_every_word_that_decides_no_value_is_a_keyword_of_some_function(cpu: Device, subject: Subject) -> None:
    keywords = Recorder(cpu, subject.reading).asked_of(cases(subject.framework))
    assert sorted(subject.without_value.keys() - keywords) == []


def assert_given(cpu: Device, function_cases: Sequence[Case], subject: Subject) -> None:
    """Check that some case passes each keyword that affects values. A keyword without such a case, and no other, is
    listed with a reason."""
    recorder = Recorder(cpu, subject.reading)
    missing = recorder.asked_of(function_cases) - subject.without_value.keys()
    for case in function_cases:
        if not missing:
            break
        recorder.believed = case.id in subject.refused_by_some
        with recorder.recording():
            run(cast(Device, recorder), case)
        missing -= recorder.given
    assert missing == set(subject.unused.get(function_of(function_cases), {}))
