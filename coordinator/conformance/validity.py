"""What makes an outcome valid: its shape, its numbers, and that its parts do not contradict each other. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from protocol.enums import Ending, Placement, TimingPolicy, Verdict
from protocol.outcomes import Outcome, Timing

TAIL_BYTES = 64 << 10
LARGEST = 2**53
"""Up to here every language of a runner has whole numbers."""
LATE_S = 5.0
"""How long past its deadline a case may be killed: half of what a coordinator waits."""
CLOCK_S = 1.0
"""By how much the clocks of both sides may differ over a case."""
EARLY = 0.95
"""The part of ``timeout_s`` that a case has at least had when it is killed at its deadline."""
SUM_SLACK = 1.05
SUM_SLACK_MS = 5.0

VERDICTS = {
    Ending.returned: Verdict.passed,
    Ending.raised: Verdict.failed,
    Ending.mismatched: Verdict.failed,
    Ending.timed_out: Verdict.failed,
    Ending.out_of_memory: Verdict.failed,
    Ending.exited: Verdict.failed,
    Ending.signalled: Verdict.failed,
    Ending.removed: Verdict.skipped,
    Ending.not_applicable: Verdict.skipped,
    Ending.harness_failed: Verdict.incomplete,
    Ending.cancelled: Verdict.incomplete,
}
"""The verdict of each ending."""


@dataclass(frozen=True)
class Asked:
    """What the outcome answers: the job, and what the catalogue says of its case."""

    timing: TimingPolicy
    timeout_s: float
    host_only: bool


def fault(told: Any, asked: Asked | None, seen_s: float = math.inf) -> str | None:
    """The first thing that is wrong with an outcome.

    ``asked`` is None where the job is not known; ``seen_s`` went by from its POST to its finish.
    """
    for where, value in _leaves(told, "outcome"):
        if found := _bad_value(where, value):
            return found
    try:
        outcome = Outcome.model_validate(told)
    except ValidationError as error:
        first = error.errors()[0]
        return f"outcome.{'.'.join(map(str, first['loc']))}: {first['msg']}"
    found = _contradiction(outcome)
    if found is None and asked is not None:
        found = _not_as_asked(outcome, asked)
    if found is None and outcome.duration_s > seen_s + CLOCK_S:
        found = f"duration_s is {outcome.duration_s:g}, and only {seen_s:.1f} s went by since the job was posted"
    return found


def _bad_value(where: str, value: Any) -> str | None:
    if isinstance(value, str):
        bad = any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value)
        return f"{where} holds NUL or a lone surrogate" if bad else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or abs(value) > LARGEST:
        return f"{where} is {value}"
    if value < 0 and not where.endswith(".exit_code"):
        return f"{where} is {value}, which is negative"
    return None


def _contradiction(outcome: Outcome) -> str | None:
    """What one part of the outcome says against another."""
    if outcome.verdict is not VERDICTS[outcome.ending]:
        return f"the ending {outcome.ending} has the verdict {VERDICTS[outcome.ending]}, not {outcome.verdict}"
    if outcome.placement is Placement.on_device and outcome.proof.fallbacks:
        return f"the placement is on_device, with the fallbacks {outcome.proof.fallbacks}"
    size = len(outcome.log_tail.encode())
    if size > TAIL_BYTES:
        return f"log_tail holds {size} bytes, more than {TAIL_BYTES}"
    # One byte may be read as U+FFFD, which is three again; a letter is never less than a byte.
    if len(outcome.log_tail) > outcome.log_bytes:
        return f"log_tail has {len(outcome.log_tail)} letters, and log_bytes is {outcome.log_bytes}"
    return _bad_timing(outcome.timing, outcome.duration_s)


def _bad_timing(timing: Timing, duration_s: float) -> str | None:
    if timing.calls_per_sample < 1:
        return f"calls_per_sample is {timing.calls_per_sample}"
    spent_ms = (timing.cold_ms or 0.0) + sum(timing.samples_ms) * timing.calls_per_sample
    if spent_ms > duration_s * 1e3 * SUM_SLACK + SUM_SLACK_MS:
        return f"cold_ms and samples_ms add up to {spent_ms:.1f} ms, more than duration_s of {duration_s:g}"
    return None


def _not_as_asked(outcome: Outcome, asked: Asked) -> str | None:
    timing, returned = outcome.timing, outcome.ending is Ending.returned
    if asked.timing is TimingPolicy.off and timing.cold_ms is not None:
        return "timing was off, and cold_ms is not null"
    if asked.timing is not TimingPolicy.off and returned and timing.cold_ms is None:
        return f"timing was {asked.timing}, it returned, and cold_ms is null"
    if asked.timing is not TimingPolicy.steady and timing.samples_ms:
        return f"timing was {asked.timing}, and there are samples_ms"
    if asked.timing is TimingPolicy.steady and returned and not timing.samples_ms:
        return "timing was steady, it returned, and there are no samples_ms"
    if asked.timing is TimingPolicy.paper and timing.position:
        return f"timing was paper, which has a process for each case, and position is {timing.position}"
    if asked.host_only and outcome.placement in (Placement.on_device, Placement.fell_back):
        return f"its catalogue declares the case host_only, and its placement is {outcome.placement}"
    if not asked.host_only and outcome.placement is Placement.host_only:
        return "its placement is host_only, which its catalogue does not declare of the case"
    return _bad_duration(outcome, asked.timeout_s)


def _bad_duration(outcome: Outcome, timeout_s: float) -> str | None:
    if outcome.ending is Ending.timed_out and outcome.duration_s < timeout_s * EARLY:
        return f"it is timed_out with timeout_s {timeout_s:g} and duration_s {outcome.duration_s:g}"
    if outcome.duration_s > timeout_s + LATE_S:
        return f"with timeout_s {timeout_s:g}, duration_s is {outcome.duration_s:g}"
    return None


def _leaves(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield where, name
            yield from _leaves(member, f"{where}.{name}")
    elif isinstance(value, list):
        for number, element in enumerate(value):
            yield from _leaves(element, f"{where}.{number}")
    else:
        yield where, value
