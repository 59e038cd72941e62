"""Every value case can fail: it notices when its function is slightly wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, cast

import pytest
from mutants import Mutant, Wrong, loaded, of_another_dtype, off_in, untouched

from protocol.outcomes import Outcome
from protocol.words import Ending, TimingPolicy, Verdict
from runners import torch as framework
from runners.cases import Case
from runners.devices import Device
from runners.harness import run_case

MOST_POSITIONS = 40

WITHOUT_MUTANTS = {
    "torch.Tensor.size/scalar-has-none": "its right result is a tuple of nothing",
}
"""Value cases on which no mutant can come to bear, and why."""


class Alone:
    def timing_lock(self) -> AbstractContextManager[float]:
        return nullcontext(0.0)


def value_cases() -> list[Case]:
    functions = framework.suites()["paper"]
    return [case for function in functions for case in function.cases if case.kind == "value"]


def mutants() -> Iterator[Mutant]:
    yield untouched()
    for made in (off_in, of_another_dtype):
        for position in range(MOST_POSITIONS):
            mutant = made(position)
            yield mutant
            if not mutant.applied and position:
                break


def run(device: Device, case: Case) -> Outcome:
    return run_case(device, case, TimingPolicy.off, Alone(), position=0, init_ms=0.0)


def with_its_reference_kept(case: Case) -> Case:
    """The inputs are the same for every mutant, so a slow reference is computed once."""
    known: list[Any] = []

    def reference(*arguments: Any, **options: Any) -> Any:
        if not known:
            assert case.reference is not None
            known.append(case.reference(*arguments, **options))
        return known[0]

    return replace(case, reference=reference)


@pytest.mark.parametrize("case", value_cases(), ids=lambda case: case.id)
def test_a_slightly_wrong_function_is_noticed(cpu: Device, case: Case) -> None:
    case = with_its_reference_kept(case)
    right = run(cpu, case)
    if right.verdict is not Verdict.passed:
        pytest.skip("the case has no right result here; test_cases.py names those that may not")
    applied, missed = [], []
    for mutant in mutants():
        outcome = run(cast(Device, Wrong(cpu, mutant)), case)
        assert outcome.ending is not Ending.harness_failed, outcome.evidence
        if mutant.applied:
            applied.append(mutant.name)
            if outcome.verdict is Verdict.passed:
                missed.append(mutant.name)
    assert not missed
    assert bool(applied) is (case.id not in WITHOUT_MUTANTS)


RANDOM = ("torch.multinomial", "torch.randperm")
NOT_ABOUT_THE_DISTRIBUTION = {
    "torch.randperm/the-same-seed-repeats": "a loaded permutation repeats as well",
}


def random_cases() -> list[Case]:
    functions = framework.suites()["paper"]
    return [
        case
        for function in functions
        for case in function.cases
        if function.name in RANDOM and case.kind == "statistics"
    ]


@pytest.mark.parametrize("case", random_cases(), ids=lambda case: case.id)
def test_a_wrong_distribution_is_noticed(cpu: Device, case: Case) -> None:
    die, dtype = loaded(), of_another_dtype(0)
    assert run(cast(Device, Wrong(cpu, dtype)), case).ending is Ending.mismatched
    outcome = run(cast(Device, Wrong(cpu, die)), case)
    assert die.applied
    assert (outcome.ending is Ending.mismatched) is (case.id not in NOT_ABOUT_THE_DISTRIBUTION)


def test_every_case_named_as_without_mutants_exists() -> None:
    assert set(WITHOUT_MUTANTS) <= {case.id for case in value_cases()}
