"""Makes findings from the replay of a recording on the target. Each call is judged by its own result and not by similar
cases. This module does no I/O.

A finding is about one function and one kind of result. Its sites are the lines whose calls had this result, and its
condition is what distinguishes these calls from the function's other calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from coordinator.assess.evidence import CaseEvidence, TargetEvidence
from coordinator.assess.findings import Assessment, Finding, most_first, rank
from coordinator.assess.recordings import sites_of
from coordinator.assess.sites import Site
from coordinator.assess.verdicts import BACKWARD_PASS, IMPRECISE, KINDS, Kind, Meets, SiteVerdict, Weight, slowness
from coordinator.results.conditions import condition_of, function_condition
from protocol.recording import CallEntry, Recording
from protocol.recording_format import GRADIENT_SUFFIX

BASIS = "replays of its calls"


def assess_replays(recording: Recording, target: TargetEvidence, slow: float) -> Assessment:
    """Judge each recorded call by its own replays, forward and backward. Calls without an outcome are counted in
    ``unknown``."""
    calls: dict[str, list[CallEntry]] = defaultdict(list)
    for call in recording.calls:
        calls[call.function].append(call)
    findings: list[Finding] = []
    charted_places: dict[str, int] = {}
    unknown_places: dict[str, int] = {}
    for function, own in calls.items():
        outcomes = {case.case: case for case in target.functions.get(function, ())}
        if outcomes:
            charted_places[function] = len(_places(own))
            findings += _findings(function, own, outcomes, target, slow)
        else:
            unknown_places[function] = len(_places(own))
    return Assessment(tuple(sorted(findings, key=rank)), most_first(charted_places), most_first(unknown_places))


def without_outcome(recording: Recording, target: TargetEvidence) -> int:
    """The number of recorded calls whose replay has no counted outcome."""
    case_ids = {case.case for cases in target.functions.values() for case in cases}
    return sum(case_ids.isdisjoint(call.cases) for call in recording.calls)


def _findings(
    function: str,
    calls: Sequence[CallEntry],
    outcomes: Mapping[str, CaseEvidence],
    target: TargetEvidence,
    slow: float,
) -> list[Finding]:
    findings = []
    for kind, is_failing in KINDS.items():
        failing = {name: case for name, case in outcomes.items() if is_failing(case)}
        if failing:
            findings.append(
                Finding(_verdict(function, kind, list(outcomes.values()), list(failing.values())), _at(calls, failing))
            )
    for call in calls:
        cases = [outcomes[name] for name in call.cases if name in outcomes]
        if (verdict := slowness(function, function, cases, target, slow)) is not None:
            findings.append(Finding(replace(verdict, basis=BASIS), _places([call])))
    return findings


def _verdict(function: str, kind: Kind, cases: Sequence[CaseEvidence], failing: Sequence[CaseEvidence]) -> SiteVerdict:
    is_only_backward = all(map(_is_backward, failing))
    if is_only_backward:
        cases = list(filter(_is_backward, cases))
    is_imprecise = kind is Kind.wrong and all(case.is_imprecise for case in failing)
    condition = condition_of(cases, lambda case: case in failing) if len(failing) < len(cases) else None
    first = failing[0]
    return SiteVerdict(
        kind=kind,
        function=function,
        charted_as=function,
        weight=Weight.note if is_imprecise else Weight.finding,
        meets=Meets.met,
        failing=len(failing),
        of=len(cases),
        basis=f"{BASIS} {BACKWARD_PASS}" if is_only_backward else BASIS,
        condition=str(condition) if condition else "",
        why_note=IMPRECISE if is_imprecise else "",
        judges=function_condition(cases).judges,
        said=first.said or "",
        causes=tuple(sorted({str(case.cause) for case in failing if case.cause})),
        case=first.case,
        chart=first.chart,
        backward=_is_of_backward_pass(kind, failing),
    )


def _is_of_backward_pass(kind: Kind, failing: Sequence[CaseEvidence]) -> bool:
    """Whether the backward pass has this result too. A replay with the backward pass runs the forward pass first, so
    for a fallback the operations decide."""
    backward = list(filter(_is_backward, failing))
    if kind is not Kind.falls_back or len(backward) == len(failing):
        return bool(backward)
    forward_operations = {name for case in failing if not _is_backward(case) for name in case.operations}
    return any(not forward_operations.issuperset(case.operations) for case in backward)


def _is_backward(case: CaseEvidence) -> bool:
    return case.case.endswith(GRADIENT_SUFFIX)


def _at(calls: Sequence[CallEntry], failing: Mapping[str, CaseEvidence]) -> tuple[Site, ...]:
    return _places([call for call in calls if not failing.keys().isdisjoint(call.cases)])


def _places(calls: Sequence[CallEntry]) -> tuple[Site, ...]:
    """The distinct lines of these calls."""
    sites = (site for call in calls for site in sites_of(call))
    return tuple({(site.path, site.line): site for site in sites}.values())
