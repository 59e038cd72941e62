"""Decides how a case changed between two sides, over all of its runs: verdict, cause and placement. It does no I/O.

A side (A or B) is a campaign or a target. A case counts as changed only if no run contradicts the change. If the runs
of a side disagree, or if the case does not count on side A, the data are insufficient. If the case has no result on
side B, it is lost. The numbers of failed cases are never compared, because a repaired case and a broken case are two
changes, although the number stays the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from coordinator.results.comparison.models import CaseChange, CaseCounts, CaseKind, SideCase

COUNTED = ("passed", "failed", "flaky")
ANOTHER_CASE = "another case in the other revision of the suite"
UNCOUNTED = "counted on neither side"


def compare_cases(
    a: Mapping[str, SideCase], b: Mapping[str, SideCase], other_cases: Collection[str] = ()
) -> list[CaseChange]:
    """Compare every case of either side, sorted by name. ``other_cases`` has the names that stand for different cases
    on the two sides.
    """
    return [
        case_change(name, a.get(name), b.get(name), comparable=name not in other_cases)
        for name in sorted(a.keys() | b.keys())
    ]


def enough(cases: dict[str, SideCase], least: int) -> dict[str, SideCase]:
    """Return the cases of one function on one side of the comparison. If fewer than ``least`` of them passed or failed,
    all of these are marked as skipped."""
    if sum(case.verdict in COUNTED for case in cases.values()) >= least:
        return cases
    return {
        name: case.model_copy(update={"verdict": "skipped"}) if case.verdict in COUNTED else case
        for name, case in cases.items()
    }


def case_change(name: str, a: SideCase | None, b: SideCase | None, *, comparable: bool = True) -> CaseChange:
    kind, why = _compare_case(a, b) if comparable else ("not compared", ANOTHER_CASE)
    return CaseChange(case=name, kind=kind, a=a, b=b, why=why)


def case_counts(changes: Sequence[CaseChange]) -> CaseCounts:
    kinds = Counter(change.kind for change in changes)
    return CaseCounts(
        worse=kinds["worse"],
        better=kinds["better"],
        cause=kinds["cause"],
        placement=kinds["placement"],
        lost=kinds["lost"],
        same=kinds["same"],
        insufficient=kinds["insufficient data"],
        not_compared=kinds["not compared"],
    )


def _compare_case(a: SideCase | None, b: SideCase | None) -> tuple[CaseKind, str | None]:
    """Return the kind of the change. If the case is lost, is not compared or has insufficient data, also return the
    reason.
    """
    has_verdict = [side is not None and side.verdict in COUNTED for side in (a, b)]
    if not any(has_verdict):
        return "not compared", UNCOUNTED
    if a is None or not has_verdict[0]:
        return "insufficient data", f"{a.verdict if a else 'no outcome'} on A"
    if b is None or b.verdict == "incomplete":
        return "lost", f"{b.verdict if b else 'no outcome'} on B"
    if not has_verdict[1]:
        return "insufficient data", f"{b.verdict} on B"
    if a.verdict != b.verdict:
        return _compare_verdicts(a, b)
    if a.verdict == "passed":
        return _compare_labels(a.placements, b.placements, "placement")
    return _compare_labels(a.causes, b.causes, "cause")


def _compare_verdicts(a: SideCase, b: SideCase) -> tuple[CaseKind, str | None]:
    flaky = next((side for side, case in (("A", a), ("B", b)) if case.verdict == "flaky"), None)
    if flaky:
        return "insufficient data", f"its runs disagree on {flaky}"
    return ("worse" if b.verdict == "failed" else "better"), None


def _compare_labels(a: Sequence[str], b: Sequence[str], kind: CaseKind) -> tuple[CaseKind, str | None]:
    """Compare the labels (placements or causes) of a case's runs. If both sides have a label in common, no change is
    certain."""
    if set(a) == set(b):
        return "same", None
    if set(a) & set(b):
        return "insufficient data", f"its runs disagree about the {kind}"
    return kind, None
