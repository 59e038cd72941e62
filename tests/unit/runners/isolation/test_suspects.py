"""A failure after other cases is set against what the case does alone; the outcome alone counts."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.enums import Ending, Placement, Repetition, Verdict
from protocol.outcomes import Evidence, Outcome
from runners.isolation.confirmation import confirm, is_crowded, is_suspect
from runners.isolation.outcomes import cancellation, death, harness_failed, out_of_memory, timed_out

PASSED = Outcome(verdict=Verdict.passed, ending=Ending.returned, duration_s=1.0)
KILLED, SEGFAULT = 9, 11


def raised_outcome(message: str, **evidence: Any) -> Outcome:
    failure_evidence = Evidence(**{"exception": "builtins.RuntimeError", "message": message, **evidence})
    return Outcome(verdict=Verdict.failed, ending=Ending.raised, duration_s=1.0, evidence=failure_evidence)


def mismatched_outcome(what: str) -> Outcome:
    return Outcome(verdict=Verdict.failed, ending=Ending.mismatched, duration_s=1.0, evidence=Evidence(mismatch=what))


@pytest.mark.parametrize(
    ("outcome", "earlier", "suspect"),
    [
        (raised_outcome("no"), 0, False),
        (raised_outcome("no"), 1, True),
        (death(SEGFAULT, 1.0), 2, True),
        (out_of_memory("too much", 1.0), 2, True),
        (PASSED, 2, False),
        (cancellation(), 2, False),
        (harness_failed("ours"), 2, False),
    ],
)
def test_failures_after_others_are_suspect(outcome: Outcome, earlier: int, suspect: bool) -> None:
    assert is_suspect(outcome, earlier=earlier, functions=1) is suspect


@pytest.mark.parametrize(
    ("outcome", "may_be_crowded"),
    [
        (raised_outcome("no kernel"), False),
        (mismatched_outcome("everything"), False),
        (PASSED, False),
        (cancellation(), False),
        (raised_outcome("no", exception="builtins.MemoryError"), True),
        (raised_outcome("can't start new thread"), True),
        (death(KILLED, 1.0), True),
        (death(SEGFAULT, 1.0), True),
        (out_of_memory("too much", 1.0), True),
        (timed_out(1.0, 1.0), True),
        (harness_failed("no end"), True),
    ],
)
def test_what_a_case_beside_may_have_caused_is_crowded(outcome: Outcome, may_be_crowded: bool) -> None:
    assert is_crowded(outcome) is may_be_crowded


def test_a_crowded_failure_is_told_as_one_beside_others() -> None:
    outcome = confirm(out_of_memory("too much", 1.0), PASSED, earlier=0)
    assert outcome.verdict is Verdict.passed
    assert outcome.evidence is not None
    assert outcome.evidence.reason == "beside cases of other processes: out of memory (too much)"


@pytest.mark.parametrize(
    ("outcome", "suspect"),
    [
        (raised_outcome("no"), True),
        (harness_failed("no end"), True),
        (PASSED, True),
        (PASSED.model_copy(update={"placement": Placement.fell_back}), True),
        (PASSED.model_copy(update={"placement": Placement.on_device}), False),
        (PASSED.model_copy(update={"placement": Placement.host_only}), False),
        (PASSED.model_copy(update={"verdict": Verdict.skipped}), False),
        (cancellation(), False),
    ],
)
def test_after_other_functions_whatever_is_no_pass_on_the_device_is_suspect(outcome: Outcome, suspect: bool) -> None:
    assert is_suspect(outcome, earlier=3, functions=2) is suspect
    assert not is_suspect(outcome, earlier=0, functions=1)


@pytest.mark.parametrize("suspect", [PASSED, harness_failed("no end")])
@pytest.mark.parametrize("alone", [PASSED, raised_outcome("no"), timed_out(9.0, 9.0)])
def test_of_what_did_not_fail_the_run_alone_is_all_that_counts(suspect: Outcome, alone: Outcome) -> None:
    assert confirm(suspect, alone, earlier=3) is alone


@pytest.mark.parametrize(
    ("suspect", "alone"),
    [
        (raised_outcome("at 0x7f on xla:0"), raised_outcome("at 0x3a on xla:0", operation="aten::add")),
        (mismatched_outcome("result: 2"), mismatched_outcome("result: 2")),
        (death(SEGFAULT, 1.0), death(SEGFAULT, 2.0)),
        (timed_out(9.0, 9.0), timed_out(9.0, 9.0)),
    ],
)
def test_the_same_failure_alone_confirms_it(suspect: Outcome, alone: Outcome) -> None:
    outcome = confirm(suspect, alone, earlier=1)
    assert outcome.evidence is not None
    assert outcome.evidence.after_others is Repetition.failed_alike
    assert outcome.evidence.model_copy(update={"after_others": None}) == alone.evidence


@pytest.mark.parametrize(
    ("suspect", "alone", "reason"),
    [
        (raised_outcome("no"), PASSED, "after 3 other cases of its process: raised (builtins.RuntimeError: no)"),
        (
            mismatched_outcome("result: 2"),
            mismatched_outcome("result: 3"),
            "after 3 other cases of its process: mismatched (result: 2)",
        ),
        (death(SEGFAULT, 1.0), death(KILLED, 1.0), "after 3 other cases of its process: signalled (SIGSEGV)"),
        (
            out_of_memory("too much", 1.0),
            death(KILLED, 1.0, "alone"),
            "alone; after 3 other cases of its process: out of memory (too much)",
        ),
    ],
)
def test_what_differs_alone_keeps_both(suspect: Outcome, alone: Outcome, reason: str) -> None:
    outcome = confirm(suspect, alone, earlier=3)
    assert (outcome.verdict, outcome.ending) == (alone.verdict, alone.ending)
    assert outcome.evidence is not None
    assert outcome.evidence.after_others is Repetition.failed_otherwise
    assert outcome.evidence.reason == reason


@pytest.mark.parametrize("alone", [harness_failed("not primed"), timed_out(9.0, 9.0)])
def test_a_confirmation_that_comes_to_nothing_changes_nothing(alone: Outcome) -> None:
    suspect = raised_outcome("no")
    assert confirm(suspect, alone, earlier=1) is suspect


def test_a_cancelled_confirmation_is_a_cancelled_job() -> None:
    assert confirm(raised_outcome("no"), cancellation(), earlier=1).ending is Ending.cancelled


def test_however_long_the_texts_are_they_fit() -> None:
    outcome = confirm(raised_outcome("x" * 60_000), PASSED, earlier=1)
    assert Outcome.model_validate_json(outcome.model_dump_json()) == outcome
