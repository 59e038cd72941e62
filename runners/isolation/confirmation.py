"""Decides when an outcome must be confirmed in a fresh process, and which of the two outcomes counts. Pure.

Cases of one function share a process; untimed cases of several functions may share one too. A case can leave something
behind (a pending graph, a changed default, memory) that makes the next case fail or run on another device. Cases that
run at the same time compete for resources. Neither is the device's fault. So a suspect case runs again in a fresh
process, and alone if other cases may have disturbed it. The outcome of this second run counts, and the first failure is
kept as evidence.
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
    """Whether earlier cases in the process may have caused an outcome, so that the case must run again alone.

    ``earlier`` is the number of cases that ran in the process before, and ``functions`` the number of functions of all
    its cases. After cases of the same function, only a failure is suspect. After cases of other functions, everything
    but a pass on the device is suspect.
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
    """Return the outcome of the case alone, with evidence of how the case failed after other cases. Returns ``suspect``
    if the run alone has no outcome, or if only the run alone timed out. Both runs share one deadline, so a timeout of
    the run alone says nothing about the case."""
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
    """Describe in one line how the case failed after or beside other cases."""
    evidence = suspect.evidence or Evidence()
    details = (evidence.exception, evidence.message or evidence.mismatch or evidence.signal or evidence.reason)
    words = ": ".join(detail for detail in details if detail)
    before = f"{earlier} other cases" if earlier > 1 else "another case"
    others = f"after {before} of its process" if earlier else "beside cases of other processes"
    return f"{others}: {suspect.ending.replace('_', ' ')}{f' ({words})' if words else ''}"
