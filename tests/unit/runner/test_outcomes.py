"""Outcomes that the runner decides, and text that everybody can store."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from protocol.enums import Ending, Verdict
from protocol.limits import MAX_SECONDS
from protocol.outcomes import Outcome
from runners.isolation.outcomes import TEXT_LIMIT, died, harness_failed, make_evidence, make_proof, printable, with_log

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_any_text_becomes_storable_and_keeps_its_length(text: str) -> None:
    stored = printable(text)
    assert "\0" not in stored
    stored.encode("utf-8")
    assert len(stored) == len(text)


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
        for each in value:
            yield from strings(each)


@given(ANY_TEXT)
@example("\\u0000")
@example("\0 and \ud800")
def test_every_text_of_an_outcome_is_cleaned(text: str) -> None:
    outcome = Outcome(
        verdict=Verdict.failed,
        ending=Ending.raised,
        duration_s=0,
        evidence=make_evidence(exception=text, message=text, frames=[text], mismatch=text, reason=text),
        proof=make_proof([text], {text: 1}),
    )
    body = with_log(outcome, text.encode("utf-8", "surrogatepass"), 1).model_dump_json()
    # Parsed, for the six characters of an escape may themselves be somebody's text.
    texts = list(strings(json.loads(body)))
    assert len(texts) >= 6
    for stored in texts:
        assert "\0" not in stored
        stored.encode("utf-8")


def test_evidence_of_any_size_is_cut_to_the_limits_of_the_protocol() -> None:
    long = "x" * 100_000
    evidence = make_evidence(
        exception=long, message=long, frames=[long] * 5_000, signal=long, mismatch=long, right_at=long, reason=long
    )
    assert type(evidence).model_validate_json(evidence.model_dump_json()) == evidence
    proof = make_proof([long], {long: 1})
    assert type(proof).model_validate_json(proof.model_dump_json()) == proof


@given(st.floats())
def test_an_end_is_told_whatever_the_clock_says(seconds: float) -> None:
    outcome = harness_failed("the harness failed", duration_s=seconds)
    assert 0 <= outcome.duration_s <= MAX_SECONDS
    assert died(None, seconds).ending is Ending.exited


def test_an_end_is_told_by_exit_code_or_signal() -> None:
    exited = died(3 << 8, 1.0)
    assert (exited.ending, exited.evidence and exited.evidence.exit_code) == (Ending.exited, 3)
    killed = died(signal.SIGSEGV, 1.0)
    assert (killed.ending, killed.evidence and killed.evidence.signal) == (Ending.signalled, "SIGSEGV")
    unnamed = died(40, 1.0)
    assert unnamed.evidence is not None
    assert unnamed.evidence.signal == "SIG40"
