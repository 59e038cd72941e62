"""Confirming the result of a case that ran after other cases in one process. Pure: outcomes in, an outcome out.

Cases of one function share a process, and untimed ones of several functions do. What one of them leaves there (a
pending graph, a changed default, memory) can make the next one fail, or run elsewhere, and that is no fault of the
device. Where several cases run at once, one may take what the next one needs. So the outcome that counts is that of the
case in a fresh process, with nothing beside it if that could matter; how it failed after or beside the others is kept.
"""

from __future__ import annotations

from protocol.enums import Ending, Placement, Repetition, Verdict
from protocol.outcomes import Evidence, Outcome
from runners.isolation.likeness import are_alike
from runners.isolation.observations import printable

CROWDED = {Ending.timed_out, Ending.out_of_memory, Ending.exited, Ending.signalled, Ending.harness_failed}
"""Endings that another case running at the same time can cause."""
SHORT_OF = {"builtins.MemoryError", "builtins.OSError", "builtins.BlockingIOError"}
"""Python's exceptions for exhausted resources: memory, processes, files, disk space."""
NO_THREAD = "can't start new thread"


def is_suspect(outcome: Outcome, *, earlier: int, functions: int) -> bool:
    """Whether earlier cases of the process may have caused an outcome, so that the case has to be repeated alone.

    ``earlier`` cases ran in the process before, of ``functions`` functions with this one. After cases of the same
    function only a failure is suspect. After those of another function, everything but a pass on the device is.
    """
    if earlier == 0:
        return False
    if outcome.verdict is Verdict.failed:
        return True
    if functions < 2:
        return False
    if outcome.verdict is Verdict.passed:
        return outcome.placement in (Placement.fell_back, Placement.unknown)
    return outcome.verdict is Verdict.incomplete and outcome.ending is not Ending.cancelled


def is_crowded(outcome: Outcome) -> bool:
    """Whether a case that ran at the same time may have caused an outcome, by using up resources or by killing
    processes. It cannot cause a wrong value or a refusal of the framework.
    """
    if outcome.ending is not Ending.raised:
        return outcome.ending in CROWDED
    evidence = outcome.evidence or Evidence()
    return evidence.exception in SHORT_OF or NO_THREAD in (evidence.message or "")


def confirm(suspect: Outcome, alone: Outcome, *, earlier: int) -> Outcome:
    """The outcome of the case alone, with how it had failed after others; ``suspect`` if alone it came to no outcome.

    Both runs share one deadline, so that only the second passes it says nothing of the case.
    """
    if alone.ending is Ending.cancelled or suspect.verdict is not Verdict.failed:
        return alone
    if alone.verdict is Verdict.incomplete or (alone.ending is Ending.timed_out is not suspect.ending):
        return suspect
    evidence = alone.evidence or Evidence()
    if _failed_alike(suspect, alone):
        details: dict[str, object] = {"after_others": Repetition.failed_alike}
    else:
        reasons = [evidence.reason, _describe_failure(suspect, earlier)]
        reason = printable("; ".join(reason for reason in reasons if reason))
        details = {"after_others": Repetition.failed_otherwise, "reason": reason}
    return alone.model_copy(update={"evidence": evidence.model_copy(update=details)})


def _failed_alike(one: Outcome, other: Outcome) -> bool:
    if one.ending is not other.ending:
        return False
    first, second = one.evidence or Evidence(), other.evidence or Evidence()
    return (first.signal, first.exit_code) == (second.signal, second.exit_code) and are_alike(first, second)


def _describe_failure(suspect: Outcome, earlier: int) -> str:
    """How the case failed after others, in one line."""
    evidence = suspect.evidence or Evidence()
    details = (evidence.exception, evidence.message or evidence.mismatch or evidence.signal or evidence.reason)
    words = ": ".join(detail for detail in details if detail)
    before = f"{earlier} other cases" if earlier > 1 else "another case"
    others = f"after {before} of its process" if earlier else "beside cases of other processes"
    return f"{others}: {suspect.ending.replace('_', ' ')}{f' ({words})' if words else ''}"
