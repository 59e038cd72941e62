"""Decides how a function changed between two sides, from the changes of its cases. It does no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from coordinator.figures.counting import CountingRule
from coordinator.figures.formats import plural
from coordinator.results.comparison.cases import case_counts, compare_cases
from coordinator.results.comparison.models import (
    CaseChange,
    CaseCounts,
    ChangeCounts,
    Kind,
    SideCase,
    SideVerdict,
    VerdictChange,
    VerdictComparison,
)
from coordinator.results.conditions import FunctionCondition
from coordinator.results.models import Cell

FAILING = ("partial", "complete")
KNOWN: tuple[Kind, ...] = ("regression", "fix", "mixed", "change")

TOLD: tuple[Kind, ...] = (*KNOWN, "lost")
"""Kinds of change for which conditions are shown."""
WITHOUT_DATA = ("lost", "insufficient data")
"""Kinds of change for functions and cases that lack data on a side."""

FunctionCases = Mapping[str, Mapping[str, SideCase]]
"""One side's cases, by function and case. Functions without a verdict by the rule are left out."""


def compare_verdicts(
    a: Sequence[Cell],
    b: Sequence[Cell],
    cases: tuple[FunctionCases, FunctionCases],
    rule: CountingRule,
    other_cases: Collection[str] = (),
) -> list[VerdictChange]:
    """Compare every function that has a case on either side, sorted by name."""
    before, after = ({cell.function: side_verdict(cell, rule) for cell in side} for side in (a, b))
    return [
        verdict_change(
            name,
            before.get(name),
            after.get(name),
            compare_cases(cases[0].get(name, {}), cases[1].get(name, {}), other_cases),
        )
        for name in sorted(cases[0].keys() | cases[1].keys())
    ]


def verdict_change(
    function: str, a: SideVerdict | None, b: SideVerdict | None, cases: Sequence[CaseChange]
) -> VerdictChange:
    case_changes = case_counts(cases)
    kind = kind_of(case_changes)
    return VerdictChange(
        function=function,
        kind=kind,
        a=a,
        b=b,
        counts=case_changes,
        cases=[case for case in cases if case.kind != "same"],
        why=_why(cases) if kind in WITHOUT_DATA else None,
    )


def kind_of(case_changes: CaseCounts) -> Kind:
    """The kind of a function's change. One changed case is enough, whatever the results of the other cases."""
    if case_changes.worse and case_changes.better:
        return "mixed"
    if case_changes.worse:
        return "regression"
    if case_changes.better:
        return "fix"
    if case_changes.cause or case_changes.placement:
        return "change"
    if case_changes.lost:
        return "lost"
    return "same" if case_changes.same and not case_changes.insufficient else "insufficient data"


def side_verdict(cell: Cell, rule: CountingRule) -> SideVerdict:
    counts = cell.counts_by(rule) or cell.uncounted
    return SideVerdict(
        verdict=counts.verdict, passed=counts.passed, total=counts.total, flaky=cell.flaky, cause=counts.cause
    )


def comparison(changes: Sequence[VerdictChange]) -> VerdictComparison:
    return VerdictComparison(
        counts=counts(changes),
        cases=_sum([change.counts for change in changes]),
        changes=[change for change in changes if change.kind != "same"],
    )


def with_conditions(
    verdicts: VerdictComparison, a: Mapping[str, FunctionCondition], b: Mapping[str, FunctionCondition]
) -> VerdictComparison:
    """The comparison with conditions added. ``a`` and ``b`` have the conditions of each side's functions."""

    def add_conditions(side: SideVerdict | None, condition: FunctionCondition | None) -> SideVerdict | None:
        if side is None or condition is None:
            return side
        return side.model_copy(update={"conditions": list(condition.accusing_sentences)})

    changes = [
        change.model_copy(
            update={
                "a": add_conditions(change.a, a.get(change.function)),
                "b": add_conditions(change.b, b.get(change.function)),
            }
        )
        for change in verdicts.changes
    ]
    return verdicts.model_copy(update={"changes": changes})


def counts(changes: Sequence[VerdictChange]) -> ChangeCounts:
    kinds = Counter(change.kind for change in changes)
    verdict_pairs = [(c.a.verdict, c.b.verdict) for c in changes if c.kind in KNOWN and c.a and c.b]
    return ChangeCounts(
        fails_on_a_passes_on_b=sum(a in FAILING and b == "success" for a, b in verdict_pairs),
        passes_on_a_fails_on_b=sum(a == "success" and b in FAILING for a, b in verdict_pairs),
        regressions=kinds["regression"],
        fixes=kinds["fix"],
        mixed=kinds["mixed"],
        changes=kinds["change"],
        lost=kinds["lost"],
        same=kinds["same"],
        insufficient=kinds["insufficient data"],
    )


def _sum(all_counts: Sequence[CaseCounts]) -> CaseCounts:
    return CaseCounts(**{name: sum(getattr(one, name) for one in all_counts) for name in CaseCounts.model_fields})


def _why(cases: Sequence[CaseChange]) -> str:
    """The reasons why cases lack data. If there are none, the reasons why cases were not compared."""
    unsure = [case for case in cases if case.kind in WITHOUT_DATA] or cases
    reasons = Counter(case.why or "" for case in unsure)
    if len(reasons) == 1 and len(unsure) == len(cases):
        return next(iter(reasons))
    return "; ".join(f"{plural(number, 'case')}: {why}" for why, number in reasons.most_common())
