"""Tests of the frozen suite ``library``: its cases are right on the CPU, and detect wrong functions."""

from __future__ import annotations

from protocol.enums import Ending
from runners.suite.cases import Case
from runners.suite.device import Device
from tests.frameworks.common.library import assert_noticed
from tests.frameworks.common.right import assert_right
from tests.frameworks.common.running import cases, run
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject

LEAST_NOTICED = 0.95


def test_every_case_is_right_on_the_cpu(cpu: Device, subject: Subject, selection: Selection) -> None:
    every = [case for case in cases(subject.framework, suite="library") if case.id not in subject.ended_by_some]
    check_cases(
        selection.drawn(every, subject.library_share, "library"), lambda case: _assert_right(cpu, case, subject)
    )


def _assert_right(cpu: Device, case: Case, subject: Subject) -> None:
    """Check that a case passes. If the processor's kernels decide, its result may differ, or its error may be raised or
    missing, but nothing else."""
    by_processor = subject.by_processor_in_library
    if by_processor and by_processor.search(case.function):
        assert run(cpu, case).ending in (Ending.returned, Ending.mismatched, Ending.raised, Ending.accepted)
    else:
        assert_right(cpu, case, subject)


def test_wrong_functions_are_noticed(cpu: Device, subject: Subject, selection: Selection) -> None:
    """Nearly all mutants are detected. Because inputs are random, a few mutants change nothing that a case could
    detect."""
    values = cases(subject.framework, "value", suite="library")
    drawn_cases = selection.drawn(values, subject.library_mutants_share, "library mutants")
    assert_noticed(cpu, drawn_cases, subject, least=LEAST_NOTICED)
