"""Outcomes that the runner decides, and text that everybody can store."""

from __future__ import annotations

import dataclasses
import json
import signal
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol import limits, outcomes
from protocol.enums import Ending, Verdict
from protocol.limits import MAX_SECONDS
from protocol.outcomes import Outcome
from runners.errors import MissingPackageError
from runners.isolation import observations
from runners.isolation.channel import encode
from runners.isolation.observations import (
    TEXT_LIMIT,
    Observation,
    as_message,
    make_evidence,
    make_proof,
    printable,
)
from runners.isolation.outcomes import death, harness_failed, with_log
from runners.suite.optional import optional
from runners.suite.sequences import aligned

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_any_text_becomes_storable_and_keeps_its_length(text: str) -> None:
    printable_text = printable(text)
    assert "\0" not in printable_text
    printable_text.encode("utf-8")
    assert len(printable_text) == len(text)


def test_long_text_is_cut_visibly() -> None:
    assert printable("x" * TEXT_LIMIT) == "x" * TEXT_LIMIT
    cut = printable("x" * (TEXT_LIMIT + 1))
    assert len(cut) == TEXT_LIMIT
    assert cut.endswith("…")


def strings(value: object) -> Iterator[str]:
    """Every text in parsed JSON, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from strings(list(pair))
    elif isinstance(value, list):
        for member in value:
            yield from strings(member)


@given(ANY_TEXT)
@example("\\u0000")
@example("\0 and \ud800")
def test_every_text_of_an_outcome_is_cleaned(text: str) -> None:
    observation = Observation(
        Verdict.failed,
        Ending.raised,
        0.0,
        evidence=make_evidence(exception=text, message=text, frames=[text], mismatch=text, reason=text),
        proof=make_proof([text], {text: 1}, 0),
    )
    outcome = Outcome.model_validate_json(encode(as_message(observation)))
    body = with_log(outcome, text.encode("utf-8", "surrogatepass"), 1).model_dump_json()
    # Parsed, for the six characters of an escape may themselves be somebody's text.
    texts = list(strings(json.loads(body)))
    assert len(texts) >= 6
    for stored_text in texts:
        assert "\0" not in stored_text
        stored_text.encode("utf-8")


def test_evidence_of_any_size_is_cut_to_the_limits_of_the_protocol() -> None:
    long = "x" * 100_000
    evidence = make_evidence(
        exception=long, message=long, frames=[long] * 5_000, signal=long, mismatch=long, right_at=long, reason=long
    )
    read = outcomes.Evidence.model_validate(as_message(evidence))
    assert vars(evidence) == read.model_dump()
    proof = make_proof([long], {long: 1}, 2**40)
    assert vars(proof) == outcomes.PlacementProof.model_validate(as_message(proof)).model_dump()


@given(st.floats())
def test_an_end_is_told_whatever_the_clock_says(seconds: float) -> None:
    outcome = harness_failed("the harness failed", duration_s=seconds)
    assert 0 <= outcome.duration_s <= MAX_SECONDS
    assert death(None, seconds).ending is Ending.exited


def test_an_end_is_told_by_exit_code_or_signal() -> None:
    exit_outcome = death(3 << 8, 1.0)
    assert (exit_outcome.ending, exit_outcome.evidence and exit_outcome.evidence.exit_code) == (Ending.exited, 3)
    signal_outcome = death(signal.SIGSEGV, 1.0)
    assert (signal_outcome.ending, signal_outcome.evidence and signal_outcome.evidence.signal) == (
        Ending.signalled,
        "SIGSEGV",
    )
    unnamed_signal = death(40, 1.0)
    assert unnamed_signal.evidence is not None
    assert unnamed_signal.evidence.signal == "SIG40"


def test_what_a_child_sends_has_the_fields_and_the_limits_of_the_contract() -> None:
    for ours, theirs in (
        (observations.ObservedEvidence, outcomes.Evidence),
        (observations.ObservedProof, outcomes.PlacementProof),
        (observations.ObservedTiming, outcomes.Timing),
    ):
        assert vars(ours()) == theirs().model_dump()
    own = {member.name for member in dataclasses.fields(observations.Observation)}
    assert own == outcomes.Outcome.model_fields.keys() - {"log_tail", "log_bytes"}
    assert (observations.LINE_LIMIT, observations.MILLISECONDS_LIMIT, observations.SECONDS_LIMIT) == (
        limits.MAX_LINE,
        limits.MAX_MILLISECONDS,
        limits.MAX_SECONDS,
    )


def test_a_package_that_is_missing_is_named_when_it_is_used_and_not_before() -> None:
    absent = optional("absent_package.special")
    softmax = absent.softmax
    with pytest.raises(MissingPackageError, match=r"needs absent_package.special.softmax, and .* no absent_package"):
        softmax([1.0], axis=-1)
    assert optional("json.decoder").JSONDecoder is json.JSONDecoder


@pytest.mark.parametrize(("one", "other"), [([1, 2], [3]), ([1], [2, 3])])
def test_sequences_of_different_lengths_are_not_aligned(one: list[int], other: list[int]) -> None:
    assert list(aligned([1, 2], "ab")) == [(1, "a"), (2, "b")]
    with pytest.raises(ValueError, match="different lengths"):
        list(aligned(one, other))
