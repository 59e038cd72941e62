"""Builds the rows of outcomes from runners' reports: classifies, summarizes and makes them storable. No I/O."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence

from pydantic import BaseModel

from coordinator.causes.rules import classify
from coordinator.database.values import to_json
from coordinator.dispatch.finishes import FinishedJob
from coordinator.dispatch.leases import Key
from coordinator.text.plain_text import plain_text
from protocol.enums import HOST, Cause, Ending, Placement, Unproven, Verdict
from protocol.limits import LEAST_MILLISECONDS, MAX_TEXT
from protocol.outcomes import Evidence, Outcome, PlacementProof

NO_PROOF = PlacementProof()
QUICK_CHARACTERS = 1_000
"""The maximum number of characters of evidence that the rules read in under a millisecond. Longer evidence is
classified in a thread."""


async def record_off_loop(key: Key, outcome: Outcome, *, framework: str, device: str) -> FinishedJob:
    """Build the row as ``record`` does, without blocking the event loop: long evidence is classified in a thread.

    The row of an outcome that passed, or that has little evidence, is built immediately, without an await.
    """
    if _is_quick(outcome):
        return record(key, outcome, framework=framework, device=device)
    return await asyncio.to_thread(record, key, outcome, framework=framework, device=device)


def _is_quick(outcome: Outcome) -> bool:
    evidence = outcome.evidence
    if outcome.ending is Ending.returned or evidence is None:
        return True
    texts = (evidence.exception, evidence.message, evidence.mismatch, *evidence.frames)
    return sum(len(text or "") for text in texts) <= QUICK_CHARACTERS


def record(key: Key, outcome: Outcome, *, framework: str, device: str) -> FinishedJob:
    """The row for an outcome that a runner reported."""
    classification = classify(outcome, framework=framework, device=device)
    timing = outcome.timing
    steady_ms, iqr_ms = summary(timing.samples_ms)
    placement, proof = _proven(outcome, device)
    return FinishedJob(
        job_id=key.job,
        attempt=key.attempt,
        verdict=classification.verdict,
        ending=outcome.ending,
        cause=classification.cause,
        rule=classification.rule,
        placement=placement,
        proof=_json(proof) if proof != NO_PROOF else "{}",
        init_ms=_zero_if_tiny(timing.init_ms),
        cold_ms=_zero_if_tiny(timing.cold_ms),
        steady_ms=_zero_if_tiny(steady_ms),
        iqr_ms=iqr_ms,
        samples_ms=_array(timing.samples_ms) if timing.samples_ms else None,
        calls_per_sample=timing.calls_per_sample if timing.samples_ms else None,
        contended=timing.contended,
        contended_share=timing.contended_share,
        lock_wait_ms=timing.lock_wait_ms,
        position=timing.position,
        duration_s=outcome.duration_s,
        evidence=_json(outcome.evidence) if outcome.evidence else None,
        log_tail=plain_text(outcome.log_tail) or None,
        log_bytes=outcome.log_bytes,
    )


def record_without_report(
    key: Key, verdict: Verdict, ending: Ending, cause: Cause, rule: str, reason: str, elapsed_s: float = 0.0
) -> FinishedJob:
    """The row for a job whose runner never reported an outcome. The coordinator gives the ``reason``."""
    evidence = _json(Evidence(reason=plain_text(reason)[:MAX_TEXT]))
    return FinishedJob(key.job, key.attempt, verdict, ending, cause, rule, elapsed_s, evidence=evidence)


UNSTORABLE = "unstorable"


def unstorable(key: Key, why: str) -> FinishedJob:
    """The row for a job whose report cannot be read or stored."""
    return record_without_report(key, Verdict.incomplete, Ending.harness_failed, Cause.infrastructure, UNSTORABLE, why)


def _zero_if_tiny(milliseconds: float | None) -> float | None:
    return 0.0 if milliseconds is not None and milliseconds < LEAST_MILLISECONDS else milliseconds


def overdue(outcome: Outcome) -> Outcome:
    """Turn the outcome *cancelled* into a timeout. A job that was stopped at its deadline reports *cancelled*."""
    return outcome.model_copy(update={"verdict": Verdict.failed, "ending": Ending.timed_out})


def summary(samples_ms: Sequence[float]) -> tuple[float | None, float | None]:
    """Median and interquartile range, in the unit of the samples. Each is None if there are too few samples."""
    if not samples_ms:
        return None, None
    if len(samples_ms) == 1:
        return samples_ms[0], None
    lower, _, upper = statistics.quantiles(samples_ms, n=4, method="inclusive")
    # Rounding can make the upper quartile of equal samples smaller than the lower one.
    return statistics.median(samples_ms), max(upper - lower, 0.0)


def _proven(outcome: Outcome, device: str) -> tuple[Placement, PlacementProof]:
    """The placement that a runner reports, corrected by its proof. A placement on a device counts as proven only if
    executions on the device were counted."""
    proof = outcome.proof
    if outcome.placement is not Placement.on_device or device == HOST:
        return outcome.placement, proof
    if proof.fallbacks:
        return Placement.fell_back, proof
    if proof.executed:
        return Placement.on_device, proof
    why = Unproven.executions_not_counted if proof.executed is None else Unproven.nothing_executed
    return Placement.unknown, proof.model_copy(update={"unproven": why})


def _json(model: BaseModel) -> str:
    """JSON that JSONB accepts. Pydantic's encoder is ten times faster, so it is used first, but JSONB rejects some of
    its results."""
    try:
        text = model.model_dump_json(exclude_none=True)
    except ValueError:  # a lone surrogate
        text = ""
    return text if text and "\\u0000" not in text else to_json(model.model_dump(exclude_none=True))


def _array(samples_ms: Sequence[float]) -> str:
    return "{" + ",".join(map(repr, samples_ms)) + "}"
