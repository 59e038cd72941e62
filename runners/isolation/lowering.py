"""Lowers the programs of one case for a platform that is not present, to find operations without a lowering.

The case runs on the host, so that all its programs are reached. Its values are not checked and it is not timed, so it
neither passes nor fails.
"""

from __future__ import annotations

from dataclasses import replace
from time import monotonic
from typing import cast

from protocol.enums import Ending, TimingPolicy
from runners.isolation.harness import VERDICTS, CaseProcess, ObservedAttempt
from runners.isolation.observations import Observation, ObservedEvidence, make_evidence, printable, with_operation
from runners.suite.cases import Case, Context
from runners.suite.device import Device, Lowering, Lowerings

RAN_NOTHING = "it compiles no program, so there is nothing to lower"
REFUSES = "it expects a refusal, which needs no lowering"


def lowers(device: Device, case: Case) -> bool:
    """Whether the case is only lowered. Cases of the runner's own functions (conformance) always run."""
    return hasattr(device, "lowering") and case.given is None


def lower_case(device: Device, case: Case, report: CaseProcess) -> Observation:
    """Run the case once on the host, and report whether its programs can be lowered for the device's platform."""
    start = monotonic()
    ending, evidence = _run_case(device, case, report)
    return Observation(
        verdict=VERDICTS[ending], ending=ending, evidence=evidence, duration_s=max(0.0, monotonic() - start)
    )


def _run_case(device: Device, case: Case, report: CaseProcess) -> tuple[Ending, ObservedEvidence | None]:
    attempt = ObservedAttempt(device, case, TimingPolicy.off, report)
    lowerings = Lowerings()
    failure: tuple[Ending, ObservedEvidence] | None = None
    try:
        with device.scope(case.dtype), cast(Lowering, device).lowering() as lowerings:
            context = attempt.begin()
            if not isinstance(context, Context):
                return context
            if case.host_only is not None or case.refuses:
                return _nothing(case.host_only or REFUSES)
            _call(attempt, context)
    except BaseException as error:  # a case may raise anything, SystemExit among it
        failure = attempt.describe(error)
    return conclude(lowerings, failure)


def _call(attempt: ObservedAttempt, context: Context) -> None:
    attempt.seed()
    attempt.stage = "prepare"
    _, call = attempt.prepare(context)
    attempt.stage = "call"
    attempt.device.wait(call())


def conclude(
    lowerings: Lowerings, failure: tuple[Ending, ObservedEvidence] | None
) -> tuple[Ending, ObservedEvidence | None]:
    """Decide the ending of a case from the lowerings of its programs, and from its failure on the host if any. Pure."""
    if lowerings.missing:
        return Ending.not_lowered, _missing(lowerings)
    if failure is not None and failure[0] is Ending.harness_failed:
        return failure
    if failure is not None:
        exception, message = failure[1].exception, failure[1].message or failure[1].reason
        reason = f"it fails on the host before all its programs are lowered ({exception}: {message})"
        return Ending.not_applicable, replace(failure[1], reason=printable(reason))
    if lowerings.untold:
        return _nothing(f"its lowering asks the device itself ({lowerings.untold[0]})")
    return (Ending.lowered, None) if lowerings.programs else _nothing(RAN_NOTHING)


def _nothing(reason: str) -> tuple[Ending, ObservedEvidence]:
    return Ending.not_applicable, make_evidence(stage="call", reason=reason)


def _missing(lowerings: Lowerings) -> ObservedEvidence:
    """Make evidence with the error of the first operation without a lowering. The reason names all such operations."""
    first = next(iter(lowerings.missing.values()))
    evidence = make_evidence(
        exception=f"{type(first.error).__module__}.{type(first.error).__qualname__}",
        message=str(first.error),
        stage="call",
        reason=f"no lowering there: {', '.join(lowerings.missing)}",
    )
    return with_operation(evidence, first.operation)
