"""Checks an outcome: its form must be valid, and its parts must not contradict each other or the job. No I/O is
done."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from pydantic import ValidationError

from coordinator.conformance.cases import CheckJob
from protocol.enums import RECOMPILED, REFUSES, Ending, Placement, TimingPolicy, Verdict, is_work_of_host
from protocol.model import first_fault
from protocol.outcomes import Outcome

TAIL_BYTES = 64 << 10
LATE_S = 5.0
"""The maximum seconds from a deadline to the kill: half of the time that a coordinator waits."""
CLOCK_S = 1.0
"""The maximum difference in seconds between the runner's clock and the check's clock over one case."""
EARLY = 0.95
"""The minimum share of ``timeout_s`` that a case must have run when it is killed at its deadline."""
SUM_SLACK = 1.05
SUM_SLACK_MS = 5.0

VERDICTS = {
    Ending.returned: Verdict.passed,
    Ending.raised: Verdict.failed,
    Ending.mismatched: Verdict.failed,
    Ending.accepted: Verdict.failed,
    Ending.timed_out: Verdict.failed,
    Ending.out_of_memory: Verdict.failed,
    Ending.exited: Verdict.failed,
    Ending.signalled: Verdict.failed,
    Ending.removed: Verdict.skipped,
    Ending.not_applicable: Verdict.skipped,
    Ending.lowered: Verdict.skipped,
    Ending.not_lowered: Verdict.skipped,
    Ending.harness_failed: Verdict.incomplete,
    Ending.cancelled: Verdict.incomplete,
}
"""The verdict of each ending."""


def find_fault(body: Any, job: CheckJob | None, elapsed_s: float) -> str | None:
    """The first fault of an outcome; None if it has none.

    ``job`` is None if the outcome's job is unknown. ``elapsed_s`` is the time from the job's POST to its finished
    event.
    """
    try:
        outcome = Outcome.model_validate(body)
    except ValidationError as error:
        return f"outcome: {first_fault(error)}"
    contradictions = chain(_contradictions(outcome), _contradictions_to_job(outcome, job) if job else ())
    contradiction = next(contradictions, None)
    if contradiction is None and outcome.duration_s > elapsed_s + CLOCK_S:
        contradiction = f"duration_s is {outcome.duration_s:g}, but the job was posted only {elapsed_s:.1f} s before"
    return contradiction


def _contradictions(outcome: Outcome) -> Iterator[str]:
    """Contradictions between parts of an outcome."""
    timing, verdict = outcome.timing, VERDICTS[outcome.ending]
    if outcome.verdict is not verdict:
        yield f"the ending {outcome.ending} has the verdict {verdict}, not {outcome.verdict}"
    if outcome.placement is Placement.on_device and outcome.proof.fallbacks:
        yield f"the placement is on_device, but the proof has the fallbacks {outcome.proof.fallbacks}"
    if outcome.placement is Placement.on_device and outcome.proof.executed == 0:
        yield "the placement is on_device, but the proof has executed 0"
    if outcome.ending in (Ending.lowered, Ending.not_lowered):
        yield from _claims_of_what_did_not_run(outcome)
    size = len(outcome.log_tail.encode())
    if size > TAIL_BYTES:
        yield f"log_tail has {size} bytes, not at most {TAIL_BYTES}"
    # The characters are compared, not the bytes, because one printed byte may be decoded as U+FFFD, which has three.
    if len(outcome.log_tail) > outcome.log_bytes:
        yield f"log_tail has {len(outcome.log_tail)} characters, but log_bytes is only {outcome.log_bytes}"
    if timing.calls_per_sample < 1:
        yield f"calls_per_sample is {timing.calls_per_sample}, not at least 1"
    spent_ms = (timing.cold_ms or 0.0) + sum(timing.samples_ms) * timing.calls_per_sample
    if spent_ms > outcome.duration_s * 1e3 * SUM_SLACK + SUM_SLACK_MS:
        yield f"cold_ms and samples_ms add up to {spent_ms:.1f} ms, more than duration_s of {outcome.duration_s:g}"


def _claims_of_what_did_not_run(outcome: Outcome) -> Iterator[str]:
    """The times and the placement that an outcome contains although its case did not run."""
    timing = outcome.timing
    if timing.cold_ms is not None or timing.samples_ms:
        yield f"the ending is {outcome.ending}, so nothing ran, but there are cold_ms or samples_ms"
    if outcome.placement is not Placement.unknown:
        yield f"the ending is {outcome.ending}, so nothing ran, but the placement is {outcome.placement}, not unknown"
    if outcome.ending is Ending.not_lowered and not (outcome.evidence and outcome.evidence.operation):
        yield "the ending is not_lowered, but the evidence names no operation"


def _contradictions_to_job(outcome: Outcome, job: CheckJob) -> Iterator[str]:
    """Contradictions between the outcome and its job, or between the outcome and the case's entry in the catalogue."""
    timing, must_have_times = outcome.timing, outcome.ending is Ending.returned and REFUSES not in job.case.tags
    policy, timeout_s = TimingPolicy(job.body["timing"]), job.body["timeout_s"]
    if policy == TimingPolicy.off and timing.cold_ms is not None:
        yield "timing was off, but cold_ms is not null"
    if policy != TimingPolicy.off and must_have_times and timing.cold_ms is None:
        yield f"timing was {policy} and the case returned, but cold_ms is null"
    if not policy.takes_samples and timing.samples_ms:
        yield f"timing was {policy}, which takes no samples, but there are samples_ms"
    is_recompiled = RECOMPILED in job.case.tags
    must_have_samples = (
        must_have_times and not is_recompiled and not is_work_of_host(outcome.placement, outcome.proof.unproven)
    )
    if policy.takes_samples and must_have_samples and not timing.samples_ms and outcome.evidence is None:
        yield f"timing was {policy} and the case returned, but there are neither samples_ms nor evidence"
    if policy == TimingPolicy.paper and timing.position and not is_recompiled:
        yield f"timing was paper, so each case has its own process, but position is {timing.position}, not 0"
    if job.case.host_only and outcome.placement in (Placement.on_device, Placement.fell_back):
        yield f"the catalogue declares the case host_only, but the placement is {outcome.placement}"
    if not job.case.host_only and outcome.placement is Placement.host_only:
        yield "the placement is host_only, but the catalogue does not declare the case host_only"
    if outcome.ending is Ending.accepted and REFUSES not in job.case.tags:
        yield f"the ending is accepted, but in the catalogue the case does not have the tag {REFUSES}"
    if outcome.ending is Ending.timed_out and outcome.duration_s < timeout_s * EARLY:
        yield f"the ending is timed_out, but duration_s {outcome.duration_s:g} is less than timeout_s {timeout_s:g}"
    if outcome.duration_s > timeout_s + LATE_S:
        yield f"duration_s is {outcome.duration_s:g}, more than {LATE_S:g} s over timeout_s {timeout_s:g}"
