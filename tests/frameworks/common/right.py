"""Checks that a case is right on the host's CPU, where no other device is involved."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from protocol.enums import WRONG_ON_HOST, Ending, Verdict
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.framework import Framework
from tests.frameworks.common.running import cases, run
from tests.frameworks.common.subject import Subject

STUDY = Path(__file__).resolve().parents[3] / "coordinator" / "reference" / "data" / "functions.csv"


def assert_right(cpu: Device, case: Case, subject: Subject) -> None:
    """Check that a case passes, or that a list of exceptions has it.

    Listed cases may lack their function, raise without a certain device, or be wrong here. A frozen case that is wrong
    here has a tag. Listed by processor, a case may be wrong on some processors only, with exactly this mismatch, or
    lack a kernel on some. Other listed cases are sometimes only as exact as a narrower float type.
    """
    outcome = run(cpu, case)
    if case.id in subject.by_processor and outcome.ending is Ending.mismatched:
        assert outcome.evidence is not None
        assert outcome.evidence.mismatch == subject.by_processor[case.id]
    elif case.id in subject.refused_by_some and outcome.ending is Ending.raised:
        assert outcome.evidence is not None
        assert "CPU" in str(outcome.evidence.message) or "only supports NHWC" in str(outcome.evidence.message)
    elif case.id in subject.now_and_then and outcome.ending is Ending.mismatched:
        assert outcome.evidence is not None
        assert outcome.evidence.right_at is not None
    elif case.id in subject.needing_spared and outcome.ending is not Ending.returned:
        assert outcome.evidence is not None
        assert outcome.evidence.message == f"No module named '{subject.needing_spared[case.id]}'"
    elif WRONG_ON_HOST in case.tags or case.id in subject.faulty:
        assert outcome.verdict is Verdict.failed, "the framework has mended this: take the case off the list"
    elif case.function in subject.gone:
        assert outcome.ending is Ending.removed
    elif case.function in subject.raising:
        assert outcome.ending is Ending.raised
    elif case.not_applicable and outcome.ending is Ending.not_applicable:
        assert outcome.evidence is not None
        assert outcome.evidence.reason
    else:
        assert outcome.ending is Ending.returned, outcome.evidence


def assert_unique(framework: Framework) -> None:
    frequencies = Counter(case.id for case in cases(framework))
    assert [identifier for identifier, times in frequencies.items() if times > 1] == []


def assert_charts_the_study(framework: Framework) -> None:
    """Check that every function of the study has cases under the name that the study uses (``pytorch`` for torch)."""
    with STUDY.open(newline="", encoding="utf-8") as file:
        study_functions = {row["function"] for row in csv.DictReader(file) if row["framework"].endswith(framework.name)}
    assert len(study_functions) >= 63
    assert sorted(study_functions - {case.function for case in cases(framework)}) == []


def assert_known(framework: Framework, names: Iterable[str]) -> None:
    """Check that every name in a list of exceptions is a function or a case of the current suites."""
    every = [case for suite in framework.load_suites().values() for case in suite.cases]
    known_names = {case.function for case in every} | {case.id for case in every}
    assert [name for name in names if name not in known_names] == []
