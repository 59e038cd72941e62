"""Every case has one outcome, which says what happened, where it happened, and whether the device or the harness
failed."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, NoReturn

import numpy as np
import pytest
import torch

from protocol.enums import Ending, Placement, TimingPolicy, Verdict
from protocol.outcomes import Outcome
from runners.isolation.harness import MAX_FRAMES, MAX_MESSAGE, FreeTimingLock, run_case
from runners.suite.cases import Case, Context, Function, Inputs
from runners.suite.checks import Mismatch
from runners.suite.device import Device

OutcomeOf = Callable[..., Outcome]
Values = np.ndarray[Any, Any]


def numbers(inputs: Inputs) -> tuple[Values]:
    return (inputs.normal(4),)


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*arguments: Any, **options: Any) -> NoReturn:
        raise error

    return fail


def negative(**changes: Any) -> Function:
    return Function("torch.neg", **({"reference": np.negative} | changes))


def plain(function: Function, **options: Any) -> Case:
    function.value("plain", numbers, **options)
    return function.cases[-1]


def test_a_right_result_passes(cpu: Device, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(cpu, plain(negative()), TimingPolicy.steady)
    assert (outcome.verdict, outcome.ending) == (Verdict.passed, Ending.returned)
    assert outcome.evidence is None
    assert outcome.timing.cold_ms is not None
    assert outcome.timing.cold_ms > 0
    assert len(outcome.timing.samples_ms) >= 3


SPIN_S = 0.02


def spinning(calls: list[float]) -> Callable[..., Any]:
    """A function whose calls last ``SPIN_S`` and are recorded."""

    def prepare(context: Context, array: torch.Tensor) -> Callable[[], torch.Tensor]:
        def call() -> torch.Tensor:
            calls.append(monotonic())
            while monotonic() < calls[-1] + SPIN_S:
                pass
            return torch.neg(array)

        return call

    return prepare


@pytest.mark.parametrize(("spins", "call_counts"), [(1.5, {1}), (3.5, {1, 2}), (5_000, {3})])
def test_calls_after_the_first_are_made_where_they_fit_into_the_cases_time(
    cpu: Device, spins: float, call_counts: set[int]
) -> None:
    """The repetition alone needs the time of two calls. With the watched call before it, the time of four calls is
    needed."""
    calls: list[float] = []
    case = plain(negative(prepare=spinning(calls)))
    timeout_s = spins * SPIN_S
    observation = run_case(cpu, case, TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0, timeout_s=timeout_s)
    assert observation.verdict is Verdict.passed
    assert len(calls) in call_counts
    assert (observation.evidence is not None) == (len(calls) == 1)


def test_the_papers_policy_times_the_first_call_alone(cpu: Device, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(cpu, plain(negative()), TimingPolicy.paper)
    assert outcome.timing.cold_ms is not None
    assert outcome.timing.samples_ms == []


def test_timing_off_measures_nothing(cpu: Device, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(cpu, plain(negative()), TimingPolicy.off)
    assert outcome.timing.cold_ms is None
    assert outcome.timing.samples_ms == []


def test_a_wrong_value_is_a_mismatch(cpu: Device, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(cpu, plain(negative(reference=lambda values: -values * 1.1)))
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.mismatched)
    assert outcome.evidence is not None
    assert outcome.evidence.stage == "check"
    assert outcome.evidence.right_at is None


def test_a_value_right_at_the_narrower_type_says_so(cpu: Device, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(cpu, plain(negative(prepare=_in_bfloat16)))
    assert outcome.evidence is not None
    assert outcome.evidence.right_at == "bfloat16"


def test_a_value_that_is_only_near_does_not(cpu: Device, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(cpu, plain(negative(reference=lambda values: -values * 1.001)))
    assert outcome.evidence is not None
    assert outcome.evidence.right_at is None


def _in_bfloat16(context: Context, values: Any) -> Callable[[], Any]:
    return lambda: context.function(values).bfloat16().float()


def test_what_the_function_raises_fails_with_its_frames(cpu: Device, outcome_of: OutcomeOf) -> None:
    dropout = Function("torch.nn.functional.dropout", reference=lambda values, p: values)
    dropout.value("impossible", numbers, p=2.0)
    outcome = outcome_of(cpu, dropout)
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.raised)
    assert outcome.evidence is not None
    assert outcome.evidence.stage == "call"
    assert outcome.evidence.frames[-1].startswith("torch/nn/functional.py:")
    assert outcome.placement is Placement.unknown


@pytest.mark.parametrize(
    ("where", "stage"), [("arguments", "inputs"), ("reference", "inputs"), ("not_applicable", "inputs")]
)
def test_an_error_of_our_own_is_not_the_functions(cpu: Device, outcome_of: OutcomeOf, where: str, stage: str) -> None:
    case = plain(negative())
    broken = Case(**(vars(case) | {where: raising(ValueError("ours"))}))
    outcome = outcome_of(cpu, broken)
    assert (outcome.verdict, outcome.ending) == (Verdict.incomplete, Ending.harness_failed)
    assert outcome.evidence is not None
    assert (outcome.evidence.stage, outcome.evidence.exception) == (stage, "builtins.ValueError")
    assert "ours" in str(outcome.evidence.reason)


def test_a_missing_package_is_the_environments_fault(cpu: Device, outcome_of: OutcomeOf) -> None:
    missing = ModuleNotFoundError("No module named 'expecttest'")
    outcome = outcome_of(cpu, plain(negative(prepare=raising(missing))))
    assert (outcome.verdict, outcome.ending) == (Verdict.incomplete, Ending.harness_failed)
    assert outcome.evidence is not None
    assert "expecttest" in str(outcome.evidence.reason)


def test_set_up_that_fails_is_the_functions_fault(cpu: Device, outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(cpu, plain(negative(prepare=raising(RuntimeError("no such kernel")))))
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.raised)
    assert outcome.evidence is not None
    assert outcome.evidence.stage == "prepare"


def test_a_function_that_is_gone_is_skipped_as_removed(cpu: Device, outcome_of: OutcomeOf) -> None:
    missing_function = Function("torch.von_mises.VonMises", reference=np.negative)
    missing_function.value("gone", numbers)
    outcome = outcome_of(cpu, missing_function)
    assert (outcome.verdict, outcome.ending) == (Verdict.skipped, Ending.removed)
    assert outcome.evidence is not None
    assert torch.__version__.partition("+")[0] in str(outcome.evidence.reason)


def test_a_case_may_have_nothing_to_test_here(cpu: Device, outcome_of: OutcomeOf) -> None:
    case = Case(**(vars(plain(negative())) | {"not_applicable": lambda context: f"needs two of {context.target}"}))
    outcome = outcome_of(cpu, case)
    assert (outcome.verdict, outcome.ending) == (Verdict.skipped, Ending.not_applicable)
    assert outcome.evidence is not None
    assert outcome.evidence.reason == "needs two of cpu"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), MemoryError()])
def test_nothing_a_call_raises_gets_past_its_outcome(cpu: Device, outcome_of: OutcomeOf, error: BaseException) -> None:
    outcome = outcome_of(cpu, plain(negative(prepare=lambda context, values: raising(error))))
    assert outcome.ending is Ending.raised
    assert outcome.evidence is not None
    assert outcome.evidence.exception == f"builtins.{type(error).__name__}"


def test_evidence_can_be_stored_whatever_was_raised(cpu: Device, outcome_of: OutcomeOf) -> None:
    def deep(left: int) -> NoReturn:
        if left == 0:
            raise RuntimeError("\0\ud800" + "x" * 100_000)
        deep(left - 1)
        raise AssertionError

    outcome = outcome_of(cpu, plain(negative(prepare=lambda context, values: lambda: deep(100))))
    assert outcome.evidence is not None
    assert outcome.evidence.message is not None
    assert outcome.evidence.message.startswith("\ufffd\ufffdxxx")
    assert len(outcome.evidence.message) <= MAX_MESSAGE
    assert len(outcome.evidence.frames) == MAX_FRAMES
    assert "deep" in outcome.evidence.frames[-1]
    outcome.model_dump_json().encode()


def test_a_message_that_cannot_be_read_does_not_hide_its_exception(cpu: Device, outcome_of: OutcomeOf) -> None:
    class UnreadableError(Exception):
        def __str__(self) -> str:
            raise ValueError

    outcome = outcome_of(cpu, plain(negative(prepare=lambda context, values: raising(UnreadableError()))))
    assert outcome.ending is Ending.raised
    assert outcome.evidence is not None
    assert str(outcome.evidence.exception).endswith("UnreadableError")


@pytest.mark.parametrize("error", [AssertionError("not so"), IndexError("too few"), Mismatch("wrong")])
def test_a_check_that_does_not_hold_is_a_mismatch(cpu: Device, outcome_of: OutcomeOf, error: Exception) -> None:
    function = Function("torch.neg")
    function.behaviour("checked", numbers, raising(error))
    outcome = outcome_of(cpu, function)
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.mismatched)
    assert outcome.evidence is not None
    assert str(error) in str(outcome.evidence.mismatch)


def test_a_call_that_fails_only_when_repeated_fails_at_its_samples(cpu: Device, outcome_of: OutcomeOf) -> None:
    def prepare(context: Context, values: Any) -> Callable[[], Any]:
        calls = iter([context.function(values)])
        return lambda: next(calls)

    outcome = outcome_of(cpu, plain(negative(prepare=prepare)), TimingPolicy.steady)
    assert (outcome.verdict, outcome.ending) == (Verdict.failed, Ending.raised)
    assert outcome.evidence is not None
    assert outcome.evidence.stage == "samples"


def test_a_function_that_spoils_its_input_does_not_spoil_the_reference(cpu: Device, outcome_of: OutcomeOf) -> None:
    in_place = Function(
        "torch.Tensor.neg_",
        reference=lambda values: np.negative(values, out=values),
        in_place=True,
        unrepeatable="each call turns the signs back",
    )
    assert outcome_of(cpu, plain(in_place), TimingPolicy.steady).verdict is Verdict.passed


def test_a_reference_works_on_exactly_the_values_that_were_moved(cpu: Device, outcome_of: OutcomeOf) -> None:
    inputs_of_reference: list[Values] = []

    def reference(values: Values) -> Values:
        inputs_of_reference.append(values)
        return values

    function = Function("torch.clone", reference=reference)
    function.value("narrow", lambda inputs: (inputs.normal(64),), dtype="bfloat16")
    assert outcome_of(cpu, function).verdict is Verdict.passed
    assert inputs_of_reference[0].dtype == np.float64
    narrow = torch.from_numpy(inputs_of_reference[0]).to(torch.bfloat16).double().numpy()
    np.testing.assert_array_equal(inputs_of_reference[0], narrow)


def test_random_numbers_repeat_from_the_cases_own_seed(cpu: Device, outcome_of: OutcomeOf) -> None:
    draws: list[list[float]] = []
    function = Function("torch.rand")
    function.statistics("four", lambda inputs: (4,), lambda observed, count: draws.append(observed.values.tolist()))
    outcome_of(cpu, function)
    torch.rand(3)
    outcome_of(cpu, function)
    first, later, *again = draws
    assert first == later
    assert again == [first, later]
