"""Merges the evidence about a target from several campaigns. The newest outcome of each case counts. This module does
no I/O.

The cases of a suite change between revisions. The evidence about a function has the cases of the newest charted
revision. An outcome of an earlier revision counts only if the case's digest shows that the case has not changed since.
If an older outcome has another result than the newest, the case stores the older chart as a disagreement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from coordinator.assess.evidence import CaseEvidence, Chart, EvidenceSet, TargetEvidence, TargetKey


@dataclass(frozen=True)
class CaseIndex:
    """The cases of a suite under one revision."""

    functions: Mapping[str, str]
    """The function of each case that can have an outcome in a chart."""
    digests: Mapping[str, str | None]
    """The digest of each case, by the case's name; None if the digest is unknown. Contains all cases of the suite, or
    only those of the read functions."""


@dataclass(frozen=True)
class Charted:
    """The evidence about one target from one campaign and one suite. ``target`` has a single chart."""

    target: TargetEvidence
    digests: Mapping[str, str | None]
    """The same as ``CaseIndex.digests``."""
    met_refusals: frozenset[str] = frozenset()
    """Cases that expect an error and raised it. They are not evidence, and their older outcomes are not evidence
    either."""

    @property
    def chart(self) -> Chart:
        return self.target.charts[0]


class TargetMerger:
    """Combines the evidence about one target, chart by chart, newest first."""

    def __init__(self) -> None:
        self._charts: list[Charted] = []
        self._leading: dict[tuple[str, str], Charted] = {}
        """The newest chart of each function, by suite and function."""
        self._functions: dict[str, dict[tuple[str, str], CaseEvidence]] = defaultdict(dict)
        """The cases of each function, by suite and case name."""
        self._met_refusals: set[tuple[str, str]] = set()

    def lacks(self, suite: str, revision: str, cases: CaseIndex) -> bool:
        """Whether the charts that were added lack some of these cases, so that an older chart with them adds
        evidence."""
        return any(
            not self._has(suite, function, case) and self._stands(suite, revision, function, case, cases.digests)
            for case, function in cases.functions.items()
        )

    def add(self, chart: Charted) -> None:
        """Add the evidence of one more chart. The chart must be older than all charts that were added before."""
        number = len(self._charts)
        suite, revision = chart.chart.suite, chart.chart.revision
        for function, cases in chart.target.functions.items():
            self._leading.setdefault((suite, function), chart)
            for case in cases:
                if self._stands(suite, revision, function, case.case, chart.digests):
                    self._add_case(suite, function, case, number)
        self._met_refusals.update((suite, case) for case in chart.met_refusals)
        self._charts.append(chart)

    @property
    def has_charts(self) -> bool:
        return bool(self._charts)

    @property
    def evidence(self) -> TargetEvidence:
        """The combined evidence. There must be at least one chart."""
        return replace(
            self._charts[0].target,
            charts=tuple(one.chart for one in self._charts),
            functions={name: tuple(cases.values()) for name, cases in self._functions.items()},
        )

    def _add_case(self, suite: str, function: str, case: CaseEvidence, number: int) -> None:
        if (suite, case.case) in self._met_refusals:
            return
        cases = self._functions[function]
        newer = cases.get((suite, case.case))
        if newer is None:
            cases[suite, case.case] = case if case.chart == number else replace(case, chart=number)
        elif newer.end != case.end:
            cases[suite, case.case] = replace(newer, disagreeing=(*newer.disagreeing, number))

    def _has(self, suite: str, function: str, case: str) -> bool:
        return (suite, case) in self._functions.get(function, ()) or (suite, case) in self._met_refusals

    def _stands(self, suite: str, revision: str, function: str, case: str, digests: Mapping[str, str | None]) -> bool:
        """Whether an outcome under this revision of a suite counts. It counts if the newest charted revision has the
        same case."""
        leading = self._leading.get((suite, function))
        if leading is None or leading.chart.revision == revision:
            return True
        digest = digests.get(case)
        return digest is not None and leading.digests.get(case) == digest


def merge_charts(charts: Iterable[Charted]) -> tuple[TargetEvidence, ...]:
    """The combined evidence of each target, sorted by name and hardware."""
    mergers: dict[TargetKey, TargetMerger] = defaultdict(TargetMerger)
    for chart in sorted(charts, key=lambda one: one.chart.at, reverse=True):
        mergers[chart.target.key].add(chart)
    return tuple(mergers[key].evidence for key in sorted(mergers))


def extend(target: TargetEvidence, others: Iterable[TargetEvidence]) -> TargetEvidence:
    """The evidence about a target, extended by evidence about another target with the same version, device and device
    class. For each function, the newer evidence counts.

    Hardware models of one class are combined, because their results hardly differ.
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


def with_other_suites(
    targets: Sequence[TargetEvidence], earlier_targets: Iterable[TargetEvidence]
) -> tuple[TargetEvidence, ...]:
    """Evidence, extended by the earlier evidence about suites that it does not have on a target, and about other
    targets."""
    by_key = {target.key: target for target in targets}
    for earlier in earlier_targets:
        target = by_key.get(earlier.key)
        by_key[earlier.key] = earlier if target is None else _with_other_suites(target, earlier)
    return tuple(by_key[key] for key in sorted(by_key))


def _with_other_suites(target: TargetEvidence, earlier: TargetEvidence) -> TargetEvidence:
    suites = {chart.suite for chart in target.charts}
    kept_numbers = [number for number, chart in enumerate(earlier.charts) if chart.suite not in suites]
    new_numbers = {number: place for place, number in enumerate(kept_numbers, len(target.charts))}
    functions = defaultdict(tuple, target.functions)
    for name, cases in earlier.functions.items():
        kept_cases = tuple(
            replace(
                case,
                chart=new_numbers[case.chart],
                disagreeing=tuple(new_numbers[number] for number in case.disagreeing),
            )
            for case in cases
            if case.chart in new_numbers
        )
        if kept_cases:
            functions[name] += kept_cases
    kept_charts = [earlier.charts[number] for number in kept_numbers]
    return replace(target, charts=(*target.charts, *kept_charts), functions=dict(functions))


def complete(evidence: EvidenceSet, shipped_evidence: EvidenceSet) -> EvidenceSet:
    """A coordinator's evidence, extended by the shipped evidence. If the coordinator has no evidence, the shipped
    evidence alone."""
    if not evidence.targets:
        return shipped_evidence
    return replace(evidence, targets=tuple(extend(target, shipped_evidence.targets) for target in evidence.targets))


def _installation(target: TargetEvidence) -> tuple[str, str, str, str]:
    return target.framework, target.version, target.device, target.device_class


def _behind(case: CaseEvidence, charts: int) -> CaseEvidence:
    """The case with its chart indexes increased by ``charts``."""
    return replace(case, chart=case.chart + charts, disagreeing=tuple(number + charts for number in case.disagreeing))
