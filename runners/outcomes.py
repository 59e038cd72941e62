"""Outcomes that the runner decides when a case cannot report its own, and clean text for all.

Pure: an observation goes in (deadline passed, process died, memory limit passed), the
protocol's ``Outcome`` comes out. No cause is named here; that is the coordinator's part.
"""

from __future__ import annotations

import os
import signal

from protocol.outcomes import Evidence, Outcome
from protocol.words import Ending, Verdict

TEXT_LIMIT = 16_384
FRAME_LIMIT = 64
_UNSTORABLE = {0: "\ufffd", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}


def printable(text: str, limit: int = TEXT_LIMIT) -> str:
    """Text that JSON and PostgreSQL both store: no NUL, no lone surrogate, not too long."""
    text = text.translate(_UNSTORABLE)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def cleaned(outcome: Outcome) -> Outcome:
    """The same outcome with all its text storable."""
    evidence = outcome.evidence
    if evidence is not None:
        evidence = evidence.model_copy(
            update={
                name: printable(value)
                for name in ("exception", "message", "stage", "signal", "mismatch", "right_at", "reason")
                if (value := getattr(evidence, name)) is not None
            }
            | {"frames": [printable(frame, 1_000) for frame in evidence.frames[-FRAME_LIMIT:]]}
        )
    proof = outcome.proof.model_copy(
        update={
            "devices": [printable(device, 200) for device in outcome.proof.devices],
            "fallbacks": {printable(name, 500): count for name, count in outcome.proof.fallbacks.items()},
        }
    )
    return outcome.model_copy(update={"evidence": evidence, "proof": proof})


def with_log(outcome: Outcome, tail: bytes, size: int) -> Outcome:
    text = tail.decode("utf-8", "replace").translate(_UNSTORABLE)
    return outcome.model_copy(update={"log_tail": text, "log_bytes": size})


def timed_out(timeout_s: float, duration_s: float) -> Outcome:
    return _ended(
        Verdict.failed,
        Ending.timed_out,
        duration_s,
        Evidence(reason=f"killed at its deadline of {timeout_s:g} s"),
    )


def out_of_memory(reason: str, duration_s: float) -> Outcome:
    return _ended(Verdict.failed, Ending.out_of_memory, duration_s, Evidence(reason=reason))


def died(status: int | None, duration_s: float, reason: str | None = None) -> Outcome:
    """The child ended before its case reported. ``status`` is the wait status, if anyone saw it."""
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"SIG{number}"
        return _ended(Verdict.failed, Ending.signalled, duration_s, Evidence(signal=name, reason=reason, stage="call"))
    code = os.waitstatus_to_exitcode(status) if status is not None else None
    return _ended(Verdict.failed, Ending.exited, duration_s, Evidence(exit_code=code, reason=reason, stage="call"))


def cancelled(duration_s: float = 0.0) -> Outcome:
    return _ended(Verdict.incomplete, Ending.cancelled, duration_s, None)


def harness_failed(reason: str, *, stage: str | None = None, duration_s: float = 0.0) -> Outcome:
    return _ended(
        Verdict.incomplete,
        Ending.harness_failed,
        duration_s,
        Evidence(reason=printable(reason), stage=stage),
    )


def _ended(verdict: Verdict, ending: Ending, duration_s: float, evidence: Evidence | None) -> Outcome:
    return Outcome(verdict=verdict, ending=ending, duration_s=max(duration_s, 0.0), evidence=evidence)
