"""Judges: the references that judged cases, in words, and the numbers of functions and cases that each one judged. It
does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coordinator.figures.formats import join_words, percent, plural
from protocol.enums import Judge

WORDS: Mapping[Judge, str] = {
    Judge.numpy: "NumPy or SciPy: independent",
    Judge.decomposition: "the library's own reference in other operations: independent",
    Judge.reference: "the reference of the function's own tests, which may call the same kernels: not independent",
    Judge.differences: "for gradients, differences of the forward pass on the CPU: not independent of that pass",
    Judge.float64: "the same function on the CPU in float64: not independent",
    Judge.itself: "the same function on the CPU: not independent",
    Judge.form: "none: only the form of the result is compared",
}


@dataclass(frozen=True)
class JudgedCases:
    """The cases of one function that one reference judged."""

    framework: str
    function: str
    judged_by: str | None
    """The reference; None if the suite does not name one."""
    cases: int


@dataclass(frozen=True)
class JudgeCount:
    judge: Judge
    cases: int
    functions: int
    """The number of functions with a case that the reference judged."""


def judge_counts(case_groups: Sequence[JudgedCases]) -> list[JudgeCount]:
    """The counts of each reference, the most independent reference first. Empty if no suite names a reference."""
    rows = {judge: [row for row in case_groups if row.judged_by == judge] for judge in Judge}
    return [
        JudgeCount(judge, sum(row.cases for row in groups), len({(row.framework, row.function) for row in groups}))
        for judge, groups in rows.items()
        if groups
    ]


def independent_functions(case_groups: Sequence[JudgedCases]) -> int:
    """The number of functions with a case that an independent reference judged."""
    independent = [judge for judge in Judge if judge.is_independent]
    return len({(row.framework, row.function) for row in case_groups if row.judged_by in independent})


def judges_sentence(case_groups: Sequence[JudgedCases]) -> str | None:
    counts = judge_counts(case_groups)
    if not counts:
        return None
    cases = sum(row.cases for row in case_groups)
    functions = len({(row.framework, row.function) for row in case_groups})
    independent = independent_functions(case_groups)
    by_judge = join_words([f"{count.cases:,} by {count.judge}" for count in counts if count.cases])
    return (
        f"Of {plural(cases, 'case')} that ran, {by_judge}: {independent:,} of {plural(functions, 'function')} "
        f"({percent(independent / functions)}) have a case that an independent reference judged."
    )
