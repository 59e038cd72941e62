"""The options of PyTorch's cases agree with the calls that the cases make."""

from __future__ import annotations

from runners.suite.options import options_of
from runners.torch import FRAMEWORK
from tests.frameworks.common.option_claims import (
    test_the_options_of_a_case_say_how_it_calls_its_function,
    test_the_options_that_were_recorded_are_those_of_the_calls,
)
from tests.frameworks.common.running import cases


def test_cases_of_where_tell_its_two_forms_apart() -> None:
    """With one argument ``where`` searches, and the shape of its result depends on values. With three arguments it
    selects values."""
    calls = [
        call
        for case in cases(FRAMEWORK, suite="library")
        if case.function == "torch.where"
        for call in options_of(case)["calls"]
    ]
    assert {call["positional"] for call in calls} == {1, 3}
