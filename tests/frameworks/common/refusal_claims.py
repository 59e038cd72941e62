"""Tests that a case that expects an error is marked as a refusal, because its pass shows nothing about a device."""

from __future__ import annotations

from runners.suite.device import Device
from tests.frameworks.common.refusals import assert_marked
from tests.frameworks.common.running import cases
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject

SHARE = 6


def test_a_case_is_marked_as_a_refusal_if_it_is_one(cpu: Device, subject: Subject, selection: Selection) -> None:
    """All marked cases are checked, because they are few, and a sample of the others."""
    device_cases = [case for case in cases(subject.framework) if case.host_only is None]
    drawn_cases = selection.drawn(device_cases, SHARE, "refusals", always=lambda case: case.refuses)
    check_cases(drawn_cases, lambda case: assert_marked(cpu, case, subject))
