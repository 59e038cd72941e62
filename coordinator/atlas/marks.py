"""Marks: a mark is a word for how well a function works on a target, decided from the results of its cases. This module
does no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from coordinator.assess.evidence import CaseEvidence
from coordinator.results.conditions import accepted_sentence
from protocol.enums import Cause


class Mark(StrEnum):
    """How well a function works on a target, the worst first. A function without evidence has no mark."""

    fails = "fails"
    """Every case fails."""
    falls_back = "falls back"
    """No case runs on the device: the framework silently runs the passing cases on the host."""
    partly = "works in part"
    """Some cases run on the device, the other cases fail or fall back. The function's page says on which inputs."""
    unproven = "unproven"
    """No case fails, and no case is proven to have run on the device."""
    works = "works"
    """No case fails or falls back (silently runs on the host), and it is proven that cases ran on the device."""
    host_work = "work of the host"
    """Every failing case uses data sets, strings, tables, files or prints, which accelerators do not support. Rates
    exclude such functions."""

    @property
    def letter(self) -> str:
        """The mark's letter in published data and in the picture."""
        return _LETTERS[self]


_LETTERS = {
    Mark.fails: "f",
    Mark.falls_back: "b",
    Mark.partly: "p",
    Mark.unproven: "u",
    Mark.works: "w",
    Mark.host_work: "h",
}
_LOWERED_WORDS = {Mark.fails: "no lowering", Mark.partly: "lowered in part", Mark.unproven: "lowered"}
NOT_CHARTED = "."
"""The letter of a function without evidence."""


def mark_words(mark: Mark, *, is_lowered: bool) -> str:
    """The words for a mark on pages. A target that only lowers programs has words of its own, because it runs
    nothing."""
    return _LOWERED_WORDS.get(mark, mark) if is_lowered else mark


@dataclass(frozen=True)
class AtlasCell:
    """A function on a target: the numbers of cases by their results."""

    total: int
    """The number of cases that count. All cases count except those with the cause ``host_work``."""
    failed: int
    wrong: int
    """The failed cases that ran and returned wrong values without an error."""
    fell_back: int
    unproven: int
    """Passing cases with unknown placement."""
    host_work: int = 0
    """The failed cases with the cause ``host_work``: they use data sets, strings, tables, files or prints."""
    accepted: int = 0
    """The cases that returned a result for arguments for which the host raises an error. No other number includes these
    cases."""

    def __post_init__(self) -> None:
        counts = (self.total, self.failed, self.wrong, self.fell_back, self.unproven, self.host_work, self.accepted)
        if (
            self.total + self.host_work + self.accepted < 1
            or min(counts) < 0
            or self.wrong > self.failed
            or self.on_device < 0
        ):
            raise ValueError(
                f"the counts of {self} contradict each other: each must be 0 or more, wrong at most failed, "
                "failed + fell_back + unproven at most total, and total + host_work + accepted at least 1"
            )

    @property
    def on_device(self) -> int:
        """The passing cases that are proven to have run on the device."""
        return self.total - self.failed - self.fell_back - self.unproven

    @property
    def mark(self) -> Mark:
        if not self.total:
            return Mark.host_work if self.host_work else Mark.unproven
        if self.failed == self.total:
            return Mark.fails
        if not self.on_device and not self.unproven:
            return Mark.falls_back
        if self.failed or self.fell_back:
            return Mark.partly
        return Mark.works if self.on_device else Mark.unproven


def cell_of(cases: Iterable[CaseEvidence]) -> AtlasCell | None:
    """Count the cases of a function on a target; None if there are none."""
    every = list(cases)
    if not every:
        return None
    ends = [case for case in every if case.end != "accepted"]
    host_work = sum(case.cause is Cause.host_work for case in ends)
    return AtlasCell(
        total=len(ends) - host_work,
        failed=sum(case.end == "failed" for case in ends) - host_work,
        wrong=sum(case.is_wrong for case in ends),
        fell_back=sum(case.end == "fell_back" for case in ends),
        unproven=sum(case.end == "unproven" for case in ends),
        host_work=host_work,
        accepted=len(every) - len(ends),
    )


def cell_words(cell: AtlasCell, *, is_lowered: bool) -> str:
    """The cell in words: ``3 of 12 cases fail; 1 of 12 falls back to the host``. If the target only lowers programs,
    the words say in how many cases the function is lowered."""
    end_words = [_end_words(cell, is_lowered=is_lowered)] if cell.total or cell.host_work else []
    return "; ".join([*end_words, *([accepted_sentence(cell.accepted)] if cell.accepted else [])])


def _end_words(cell: AtlasCell, *, is_lowered: bool) -> str:
    count = cell.total or cell.host_work
    cases = f"all {count} cases" if count > 1 else "its only case"
    wrong = _wrong(cell)
    if is_lowered:
        return _lowering(cell, cases)
    match cell.mark:
        case Mark.works if cell.unproven:
            return f"passes in {cases}, in {cell.on_device} of them with proof that the device computed"
        case Mark.works:
            return f"passes in {cases}, on the device"
        case Mark.host_work:
            return f"uses data sets, strings, tables, files or prints in {cases}"
        case Mark.unproven:
            return f"passes in {cases}, without proof that the device computed"
        case Mark.fails:
            return f"fails in {cases}{wrong}"
        case Mark.falls_back if cell.fell_back == cell.total:
            return f"falls back to the host in {cases}"
        case _:
            failures = f"{cell.failed} of {cell.total} cases {'fail' if cell.failed > 1 else 'fails'}{wrong}"
            back = f"{cell.fell_back} of {cell.total} {'fall' if cell.fell_back > 1 else 'falls'} back to the host"
            return "; ".join([failures] * bool(cell.failed) + [back] * bool(cell.fell_back))


def _lowering(cell: AtlasCell, cases: str) -> str:
    if not cell.failed:
        return f"is lowered in {cases}, not run"
    return f"has no lowering in {cell.failed} of {cell.total} cases, not run"


def _wrong(cell: AtlasCell) -> str:
    if not cell.wrong:
        return ""
    which = "" if cell.wrong == cell.failed else f"{cell.wrong} of them "
    return f", {which}with wrong values and no error"
