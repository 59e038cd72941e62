"""Decides whether a case detects a slightly wrong function."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from protocol.enums import Ending, Verdict
from runners.suite.cases import Case
from runners.suite.device import Device
from tests.frameworks.common.mutants import (
    Arrays,
    Mutant,
    Wrong,
    WrongLater,
    clobber_input,
    input_returned,
    of_another_dtype,
    off_in,
    zeros,
)
from tests.frameworks.common.operators import Dialect, gradients_off
from tests.frameworks.common.running import run
from tests.frameworks.common.subject import Subject

MOST_POSITIONS = 40


def mutants(arrays: Arrays) -> Iterator[Mutant]:
    """The mutants: for every position of the result a wrong value, then another dtype, until no position is left."""
    yield input_returned(arrays)
    for make in (off_in, of_another_dtype):
        yield from _at_each_position(arrays, make)


def gradient_mutants(arrays: Arrays, dialect: Dialect) -> Iterator[Mutant]:
    """The mutants of a case that returns gradients: every position of the function's result is wrong, and its gradients
    are wrong.

    No mutant has another dtype, because a gradient has the dtype of its input, whatever the result's dtype is. The
    cases of the plain call detect a wrong dtype.
    """
    yield input_returned(arrays)
    yield from _at_each_position(arrays, off_in)
    yield gradients_off(arrays, dialect)


def _at_each_position(arrays: Arrays, make: Callable[[Arrays, int], Mutant]) -> Iterator[Mutant]:
    for position in range(MOST_POSITIONS):
        mutant = make(arrays, position)
        yield mutant
        if position + 1 >= mutant.places or (position and not mutant.applied):
            break


def assert_noticed(cpu: Device, case: Case, subject: Subject) -> None:
    """Check that every effective mutant fails the case, or for listed cases some mutants or none."""
    case = with_its_reference_kept(case)
    right = run(cpu, case)
    if right.verdict is not Verdict.passed:
        pytest.skip("the case has no right result here; test_cases.py names those that may not")
    applied_names, missed_names = [], []
    for mutant in mutants(subject.arrays):
        outcome = run(cast(Device, Wrong(cpu, mutant, subject.wrapper_of)), case)
        assert outcome.ending is not Ending.harness_failed, outcome.evidence
        if mutant.applied:
            applied_names.append(mutant.name)
            if outcome.verdict is Verdict.passed:
                missed_names.append(mutant.name)
    if case.id in subject.of_part:
        assert 0 < len(missed_names) < len(applied_names)
    else:
        assert not missed_names
    assert bool(applied_names) is (case.id not in subject.without_mutants)


def assert_clobbering_noticed(cpu: Device, case: Case, subject: Subject) -> None:
    """Check that the case fails if its function overwrites its input, unless the case or the function is listed."""
    mutant = clobber_input(subject.arrays)
    _assert_noticed(Wrong(cpu, mutant, subject.wrapper_of), case, mutant, subject.written_over_unseen)


def assert_right_once_noticed(cpu: Device, case: Case, subject: Subject) -> None:
    """Check that the case fails if its function is right at first and returns zeros later, unless the case or the
    function is listed."""
    mutant = zeros(subject.arrays)
    _assert_noticed(WrongLater(cpu, mutant, subject.wrapper_of), case, mutant, subject.right_once_unseen)


def _assert_noticed(wrong: Wrong, case: Case, mutant: Mutant, surviving: Container[str]) -> None:
    outcome = run(cast(Device, wrong), case)
    assert outcome.ending is not Ending.harness_failed, outcome.evidence
    has_survived = mutant.applied and outcome.verdict is Verdict.passed
    if case.id in surviving:
        assert has_survived, "it is noticed by now: take the case off the list"
    elif case.function not in surviving:
        assert not has_survived


def with_its_reference_kept(case: Case) -> Case:
    """The case with a cached reference. Inputs are the same for every mutant, so a slow reference is computed once."""
    results: list[Any] = []

    def reference(*arguments: Any, **options: Any) -> Any:
        if not results:
            assert case.reference is not None
            results.append(case.reference(*arguments, **options))
        return results[0]

    return replace(case, reference=reference)
