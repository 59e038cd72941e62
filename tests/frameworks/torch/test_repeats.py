"""A case checks its inputs after the call, and a later result as well as the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from protocol.enums import Ending, TimingPolicy, Verdict
from protocol.outcomes import Outcome
from runners.suite.cases import Case, Context, Function, Inputs
from runners.suite.device import Device

OutcomeOf = Callable[..., Outcome]
POLICIES = [TimingPolicy.off, TimingPolicy.paper, TimingPolicy.steady]


def numbers(inputs: Inputs) -> tuple[Any]:
    return (inputs.normal(4),)


def negation(prepare: Callable[..., Callable[[], Any]], *, of: Any = None, **described: Any) -> Case:
    """A case of ``torch.neg`` with the given call. ``of`` returns the array from the argument."""
    function = Function("torch.neg", reference=lambda x: -(of(x) if of else x))
    function.value("plain", described.pop("arguments", numbers), prepare=prepare, **described)
    return function.cases[-1]


def mismatch(outcome: Outcome) -> str:
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.mismatched)
    assert outcome.evidence is not None
    return str(outcome.evidence.mismatch)


def clobbering(find: Callable[[Any], Any] = lambda x: x) -> Callable[..., Callable[[], Any]]:
    """Returns the right result, and overwrites the argument's first number with zero."""

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        def call() -> Any:
            result = context.function(find(x))
            find(x)[0] = 0
            return result

        return call

    return prepare


@pytest.mark.parametrize("timing", POLICIES)
def test_an_input_that_the_call_changed_is_a_mismatch(cpu: Device, outcome_of: OutcomeOf, timing: TimingPolicy) -> None:
    outcome = outcome_of(cpu, negation(clobbering()), timing)
    assert mismatch(outcome) == "the call changed its input: argument 0: 1 of 4 values are not as they were given"
    assert outcome.evidence is not None
    assert outcome.evidence.stage == "check"


def test_an_input_that_only_a_later_call_changes_is_a_mismatch(cpu: Device, outcome_of: OutcomeOf) -> None:
    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        calls: list[Any] = []

        def call() -> Any:
            calls.append(context.function(x))
            if len(calls) == 2:
                x[1] += 1
            return calls[0]

        return call

    outcome = outcome_of(cpu, negation(prepare))
    assert "the call changed its input: argument 0" in mismatch(outcome)
    assert outcome.evidence is not None
    assert outcome.evidence.stage == "repeat"


@pytest.mark.parametrize(
    ("arguments", "find", "path"),
    [
        (lambda inputs: [[1, inputs.normal(3)]], lambda x: x[1], "argument 0[1]"),
        (lambda inputs: [((inputs.normal(3),),)], lambda x: x[0][0], "argument 0[0][0]"),
        (lambda inputs: [{"weight": inputs.normal(3)}], lambda x: x["weight"], "argument 0['weight']"),
    ],
)
def test_inputs_in_containers_are_compared(
    cpu: Device, outcome_of: OutcomeOf, arguments: Any, find: Any, path: str
) -> None:
    outcome = outcome_of(cpu, negation(clobbering(find), of=find, arguments=arguments))
    assert f"changed its input: {path}: " in mismatch(outcome)


def test_the_input_of_a_module_is_compared(cpu: Device, outcome_of: OutcomeOf) -> None:
    class Careless(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            result = -x
            x.zero_()
            return result

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        module = Careless()
        return lambda: module(x)

    assert "changed its input" in mismatch(outcome_of(cpu, negation(prepare)))


@pytest.mark.parametrize("change", [lambda x: x.pop(), lambda x: x.append(1), lambda x: x.__setitem__(0, 7)])
def test_a_list_of_numbers_is_an_input_as_well(cpu: Device, outcome_of: OutcomeOf, change: Any) -> None:
    def prepare(context: Context, sizes: list[int]) -> Callable[[], Any]:
        def call() -> Any:
            result = context.function(torch.zeros(2, 3))
            change(sizes)
            return result

        return call

    function = Function("torch.neg", reference=lambda sizes: np.zeros((2, 3)))
    function.value("sizes", lambda inputs: ([2, 3],), prepare=prepare)
    assert "changed its input: argument 0" in mismatch(outcome_of(cpu, function))


@pytest.mark.parametrize(("in_place", "verdict"), [(True, "passed"), ((0,), "passed"), ((1,), "failed")])
def test_a_case_says_which_of_its_inputs_may_change(
    cpu: Device, outcome_of: OutcomeOf, in_place: Any, verdict: str
) -> None:
    def prepare(context: Context, x: Any, y: Any) -> Callable[[], Any]:
        return lambda: context.function(x.fill_(2.0))

    function = Function("torch.neg", reference=lambda x, y: np.full(4, -2.0))
    function.value("filled", lambda inputs: (inputs.normal(4), inputs.normal(4)), prepare=prepare, in_place=in_place)
    assert outcome_of(cpu, function).verdict == verdict


def test_nan_and_both_zeros_are_as_they_were_given(cpu: Device, outcome_of: OutcomeOf) -> None:
    case = negation(lambda context, x: lambda: context.function(x), arguments=lambda inputs: [np.array([np.nan, -0.0])])
    assert outcome_of(cpu, case).verdict is Verdict.passed


@pytest.mark.parametrize("timing", POLICIES)
def test_right_once_and_zeros_afterwards_is_a_mismatch(
    cpu: Device, outcome_of: OutcomeOf, timing: TimingPolicy
) -> None:
    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        results = iter([context.function(x)])
        return lambda: next(results, torch.zeros(4))

    outcome = outcome_of(cpu, negation(prepare), timing)
    assert mismatch(outcome).startswith("right at first, wrong at a later call: result: 4 of 4 values differ")
    assert outcome.evidence is not None
    assert outcome.evidence.stage == "repeat"


def test_a_later_result_right_at_the_narrower_type_says_so(cpu: Device, outcome_of: OutcomeOf) -> None:
    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        results = iter([context.function(x)])
        return lambda: next(results, context.function(x).bfloat16().float())

    outcome = outcome_of(cpu, negation(prepare))
    assert outcome.evidence is not None
    assert outcome.evidence.right_at == "bfloat16"


def test_a_case_whose_state_goes_on_is_prepared_anew(cpu: Device, outcome_of: OutcomeOf) -> None:
    def counting(context: Context, x: Any) -> Callable[[], Any]:
        total = torch.zeros(4)
        return lambda: context.function(total.add_(x)).clone()

    assert "a later call" in mismatch(outcome_of(cpu, negation(counting)))
    assert outcome_of(cpu, negation(counting, unrepeatable="a sum goes on")).verdict is Verdict.passed


def test_a_case_that_is_prepared_anew_must_be_right_again(cpu: Device, outcome_of: OutcomeOf) -> None:
    preparations: list[int] = []

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        preparations.append(len(preparations))
        # The first is the case's, the second the one that is traced.
        return lambda: context.function(x) * (preparations[-1] < 2)

    outcome = outcome_of(cpu, negation(prepare, unrepeatable="for this test"))
    assert "a later call" in mismatch(outcome)


def test_inputs_are_not_copied_before_the_first_call(cpu: Device, outcome_of: OutcomeOf) -> None:
    """A copy to the host would compute pending operations, so that the first call would no longer be cold."""
    order: list[str] = []

    class Noting:
        def __getattr__(self, name: str) -> Any:
            return getattr(cpu, name)

        def to_host(self, tree: Any) -> Any:
            order.append("to_host")
            return cpu.to_host(tree)

        def to_device(self, tree: Any, dtype: str) -> Any:
            order.append("to_device")
            return cpu.to_device(tree, dtype)

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        def call() -> Any:
            order.append("call")
            return context.function(x)

        return call

    assert outcome_of(Noting(), negation(prepare)).verdict is Verdict.passed
    assert order[:3] == ["to_device", "call", "to_host"]
