"""Advice about versions: names another release of the framework in which the failing cases pass. This module does no
I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from coordinator.assess.advice import passing
from coordinator.assess.evidence import TargetEvidence
from coordinator.assess.findings import Assessment, Finding
from coordinator.assess.verdicts import KINDS, SiteVerdict, Weight
from coordinator.catalogue.releases import version_numbers


def with_versions(assessment: Assessment, target: TargetEvidence, others: Iterable[TargetEvidence]) -> Assessment:
    """The assessment with advice about other versions on the same device. The advice names the next later version in
    which the call passes, otherwise the latest earlier one."""
    versions = {version_numbers(other.version): other for other in others if _is_other_version(target, other)}
    own = version_numbers(target.version)
    later = [versions[version] for version in sorted(versions) if version > own]
    earlier = [versions[version] for version in sorted(versions, reverse=True) if version < own]
    findings = tuple(_with_advice(finding, target, [*later, *earlier]) for finding in assessment.findings)
    return replace(assessment, findings=findings)


def _is_other_version(target: TargetEvidence, other: TargetEvidence) -> bool:
    return other.version != target.version and (other.framework, other.device, other.device_class) == (
        target.framework,
        target.device,
        target.device_class,
    )


def _with_advice(finding: Finding, target: TargetEvidence, others: Iterable[TargetEvidence]) -> Finding:
    verdict = finding.verdict
    if verdict.weight is Weight.note or verdict.kind not in KINDS:
        return finding
    sentence = next(filter(None, (_passes_in(verdict, target, other) for other in others)), None)
    return (
        finding if sentence is None else replace(finding, verdict=replace(verdict, advice=(*verdict.advice, sentence)))
    )


def _passes_in(verdict: SiteVerdict, target: TargetEvidence, other: TargetEvidence) -> str | None:
    """A clause such as ``passes in torch 2.13.0 (4 of 4 cases)``, about the cases that fail on ``target`` and pass on
    ``other``. None if they do not pass or were not run on ``other``."""
    is_failing = KINDS[verdict.kind]
    failing = {case.case for case in target.functions[verdict.charted_as] if is_failing(case)}
    same = [case for case in other.functions.get(verdict.charted_as, ()) if case.case in failing]
    count = passing(same, is_failing)
    return None if count is None else f"passes in {other.framework} {other.version} ({count})"
