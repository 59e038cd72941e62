"""Conditions of failures that do not depend on options, but are drawn at random over the cases of a real suite."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from coordinator.results.conditions import Condition, EndedCase, function_condition
from protocol.catalogue import CaseOptions
from runners.suite.cases import Function
from runners.suite.options import options_of
from runners.torch.suites.library import FUNCTIONS

DRAWN = 400
LEAST_CASES = 8


@pytest.fixture(scope="module")
def functions() -> list[Function]:
    of_enough = [function for function in FUNCTIONS if len(function.cases) >= LEAST_CASES]
    return random.Random(5).sample(of_enough, DRAWN)


def conditions(functions: Sequence[Function], failing: int | None) -> list[Condition]:
    """The conditions that are reported if this many cases of each function fail by chance; None means half of the
    cases."""
    draw = random.Random(7)
    chance_conditions = []
    for function in functions:
        failed_places = draw.sample(range(len(function.cases)), failing or len(function.cases) // 2)
        cases = [
            EndedCase(
                "failed" if place in failed_places else "passed",
                CaseOptions.model_validate(options_of(case)),
                frozenset(case.tags),
            )
            for place, case in enumerate(function.cases)
        ]
        if (condition := function_condition(cases).fails) is not None:
            chance_conditions.append(condition)
    return chance_conditions


def test_few_functions_with_a_few_failures_get_a_condition_and_hardly_one_with_exceptions(
    functions: list[Function],
) -> None:
    chance_conditions = conditions(functions, 2)
    assert len(chance_conditions) <= 0.15 * DRAWN
    assert sum(not condition.is_exact for condition in chance_conditions) <= 0.01 * DRAWN


def test_no_function_half_of_which_fails_gets_a_condition(functions: list[Function]) -> None:
    assert len(conditions(functions, None)) <= 0.02 * DRAWN
