"""Makes the outcome of a case that cannot report its own outcome.

Pure. The reason is an event that the supervisor observed: a missed deadline, a dead process, or too much memory. The
coordinator, not this module, determines the cause of a failure.
"""

from __future__ import annotations

import math
import os
import signal
from typing import Any

from pydantic import ValidationError

from protocol.enums import Ending, Verdict
from protocol.limits import MAX_SECONDS
from protocol.model import first_fault
from protocol.outcomes import Evidence, Outcome
from runners.isolation.observations import make_evidence, storable


def with_log(outcome: Outcome, tail: bytes, size: int) -> Outcome:
    if size == 0:
        return outcome
    return outcome.model_copy(update={"log_tail": storable(tail.decode("utf-8", "replace")), "log_bytes": size})


def timed_out(timeout_s: float, duration_s: float) -> Outcome:
    return _outcome(
        Verdict.failed,
        Ending.timed_out,
        duration_s,
        _evidence(reason=f"killed at its deadline of {timeout_s:g} s"),
    )


def out_of_memory(reason: str, duration_s: float) -> Outcome:
    return _outcome(Verdict.failed, Ending.out_of_memory, duration_s, _evidence(reason=reason))


def death(status: int | None, duration_s: float, reason: str | None = None) -> Outcome:
    """Make the outcome of a case whose child ended before it reported. ``status`` is the wait status, if known."""
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"SIG{number}"
        evidence = _evidence(signal=name, reason=reason, stage="call")
        return _outcome(Verdict.failed, Ending.signalled, duration_s, evidence)
    code = os.waitstatus_to_exitcode(status) if status is not None else None
    evidence = _evidence(exit_code=code, reason=reason, stage="call")
    return _outcome(Verdict.failed, Ending.exited, duration_s, evidence)


def cancellation(duration_s: float = 0.0) -> Outcome:
    return _outcome(Verdict.incomplete, Ending.cancelled, duration_s, None)


def harness_failed(reason: str, *, stage: str | None = None, duration_s: float = 0.0) -> Outcome:
    return _outcome(Verdict.incomplete, Ending.harness_failed, duration_s, _evidence(reason=reason, stage=stage))


def unkept(error: ValidationError, *, duration_s: float = 0.0) -> Outcome:
    """Make the outcome of an attempt whose report holds an invalid number or text.

    An invalid duration means that the case or the machine has broken the clock, so no measurement in this process can
    be trusted. The device is not to blame, so the attempt is incomplete.
    """
    return harness_failed(f"the report of the case has an invalid value: {first_fault(error)}", duration_s=duration_s)


def _outcome(verdict: Verdict, ending: Ending, duration_s: float, evidence: Evidence | None) -> Outcome:
    # An invalid duration becomes 0, because a broken clock must not prevent the report of the ending.
    seconds = min(max(duration_s, 0.0), MAX_SECONDS) if math.isfinite(duration_s) else 0.0
    return Outcome(verdict=verdict, ending=ending, duration_s=seconds, evidence=evidence)


def _evidence(**fields: Any) -> Evidence:
    return Evidence(**vars(make_evidence(**fields)))
