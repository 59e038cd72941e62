"""A target whose programs are only lowered gets no verdict on values, whatever a runner reports."""

from __future__ import annotations

import pytest

from coordinator.causes.rules import classify
from coordinator.conformance.validity import VERDICTS, find_fault
from coordinator.results.lowerings import lowering_rate, lowering_sentence
from protocol.enums import Cause, Ending, Verdict
from protocol.outcomes import Evidence, Outcome


def outcome_of(ending: Ending) -> Outcome:
    evidence = Evidence(exception="builtins.TypeError", message="unsupported operand type", stage="call")
    return Outcome(verdict=VERDICTS[ending], ending=ending, evidence=evidence, duration_s=1)


@pytest.mark.parametrize("ending", Ending)
def test_nothing_there_passes_or_fails(ending: Ending) -> None:
    classification = classify(outcome_of(ending), framework="jax", device="another-lowered")
    assert classification.verdict in (Verdict.skipped, Verdict.incomplete)
    assert classification.cause not in (None, Cause.unknown)


def test_elsewhere_the_same_endings_are_judged() -> None:
    verdicts = {ending: classify(outcome_of(ending), framework="jax", device="tpu").verdict for ending in Ending}
    assert verdicts[Ending.returned] is Verdict.passed
    assert verdicts[Ending.raised] is verdicts[Ending.signalled] is Verdict.failed


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        ({}, None),
        ({"timing": {"cold_ms": 1.0}}, "there are cold_ms or samples_ms"),
        ({"timing": {"samples_ms": [1.0]}}, "there are cold_ms or samples_ms"),
        ({"placement": "on_device"}, "the placement is on_device"),
        ({"verdict": "passed"}, "has the verdict skipped"),
        ({"evidence": None}, "names no operation"),
    ],
)
def test_a_runner_may_not_claim_that_it_ran(claim: dict[str, object], fault: str | None) -> None:
    body = {"verdict": "skipped", "ending": "not_lowered", "duration_s": 1.0, "evidence": {"operation": "eig"}, **claim}
    message = find_fault(body, None, 1.0)
    assert (message is None) if fault is None else fault in (message or "")


def test_the_rate_is_of_functions_of_which_something_was_lowered() -> None:
    rate = lowering_rate(["lowered", "lowered", None, "not_lowered"])
    assert (rate.count, rate.n) == (2, 3)
    assert lowering_sentence(lowering_rate([None])) == "No function was lowered."
