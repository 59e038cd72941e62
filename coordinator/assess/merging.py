"""One evidence of a target from the charts of several campaigns: of each case the newest. Pure.

A suite changes. Of a function the cases are those of its suite's newest revision that was charted; an outcome under an
earlier one stands for a case that is still the same by its digest. An older outcome that ends otherwise is a
disagreement, which stays with the case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from coordinator.assess.evidence import CaseEvidence, EvidenceSet, TargetEvidence, TargetKey


@dataclass(frozen=True)
class Charted:
    """The evidence that one campaign gives of one target with one suite: a target with a single chart."""

    target: TargetEvidence
    digests: Mapping[str, str | None]
    """Of all cases of the suite under its revision, or of those that were charted, by name; null: not known."""


def merge_charts(charts: Iterable[Charted]) -> tuple[TargetEvidence, ...]:
    """One evidence a target, ordered by its name and hardware."""
    by_target: dict[TargetKey, list[Charted]] = defaultdict(list)
    for chart in charts:
        by_target[chart.target.key].append(chart)
    return tuple(_merge(by_target[key]) for key in sorted(by_target))


def extend(target: TargetEvidence, others: Iterable[TargetEvidence]) -> TargetEvidence:
    """The evidence with that of the target of the same version that was charted last: of each function the newest.

    On another hardware model of the same class a function ends alike.
    """
    alike = [other for other in others if _installation(other) == _installation(target)]
    if not alike:
        return target
    newest = max(alike, key=lambda other: other.charted_at)
    first = len(target.charts)
    newer = {
        name: tuple(_behind(case, first) for case in cases)
        for name, cases in newest.functions.items()
        if name not in target.functions or newest.function_charted_at(name) > target.function_charted_at(name)
    }
    return replace(target, charts=(*target.charts, *newest.charts), functions={**target.functions, **newer})


def complete(evidence: EvidenceSet, shipped_evidence: EvidenceSet) -> EvidenceSet:
    """A coordinator's evidence with that which ships with Portolan, which is all there is if the former is empty."""
    if not evidence.targets:
        return shipped_evidence
    return replace(evidence, targets=tuple(extend(target, shipped_evidence.targets) for target in evidence.targets))


def _installation(target: TargetEvidence) -> tuple[str, str, str, str]:
    return target.framework, target.version, target.device, target.device_class


def _behind(case: CaseEvidence, charts: int) -> CaseEvidence:
    """The case with its charts behind so many others."""
    return replace(case, chart=case.chart + charts, disagreeing=tuple(number + charts for number in case.disagreeing))


def _merge(charts: Sequence[Charted]) -> TargetEvidence:
    newest_first = sorted(charts, key=lambda chart: chart.target.charted_at, reverse=True)
    functions: dict[str, dict[tuple[str, str], CaseEvidence]] = defaultdict(dict)
    newest: dict[tuple[str, str], Charted] = {}
    for number, chart in enumerate(newest_first):
        suite = chart.target.charts[0].suite
        for function, cases in chart.target.functions.items():
            leading = newest.setdefault((suite, function), chart)
            for case in cases:
                if not _stands(case.case, chart, leading):
                    continue
                newer = functions[function].get((suite, case.case))
                if newer is None:
                    functions[function][suite, case.case] = (
                        case if case.chart == number else replace(case, chart=number)
                    )
                elif newer.end != case.end:
                    functions[function][suite, case.case] = replace(newer, disagreeing=(*newer.disagreeing, number))
    return replace(
        newest_first[0].target,
        charts=tuple(chart.target.charts[0] for chart in newest_first),
        functions={name: tuple(cases.values()) for name, cases in functions.items()},
    )


def _stands(case: str, chart: Charted, leading: Charted) -> bool:
    """Whether an outcome of ``charted`` is one of a case that the revision of ``leading`` still has."""
    if chart.target.charts[0].revision == leading.target.charts[0].revision:
        return True
    digest = chart.digests.get(case)
    return digest is not None and leading.digests.get(case) == digest
