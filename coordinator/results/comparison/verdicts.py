"""The change of a function's verdict between two sides. Pure.

It is a regression or a fix only if that does not hang on cases whose runs disagreed, nor on cases
that only the other side counted: however those had come out, it would be one. Else the data are
insufficient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from coordinator.results.comparison.models import Counts, Kind, SideVerdict, VerdictChange
from coordinator.results.models import Cell, Judgement, WhichVerdict

FAILING = ("partial", "complete")


def compare_verdicts(
    a: Sequence[Cell], b: Sequence[Cell], which: WhichVerdict, changed: frozenset[str] = frozenset()
) -> list[VerdictChange]:
    """Every function of either side, by name. Those that never touch a device have no verdict on it.

    Of the ``changed`` ones the two sides have other cases: they cannot be compared.
    """
    before = {cell.function: cell for cell in a}
    after = {cell.function: cell for cell in b}
    return [
        verdict_change(
            name,
            side_verdict(before.get(name), which),
            side_verdict(after.get(name), which),
            "its cases are other ones in the two revisions of the suite" if name in changed else None,
        )
        for name in sorted(before.keys() | after.keys())
        if which == "anywhere" or not _host_only(before.get(name), after.get(name))
    ]


def verdict_change(
    function: str, a: SideVerdict | None, b: SideVerdict | None, why: str | None = None
) -> VerdictChange:
    """The change of one function; with a reason ``why`` it cannot be told, there is none."""
    why = why or _missing(a, b)
    kind: Kind = "insufficient data"
    if a is not None and b is not None and why is None:
        of = max(a.total, b.total)
        if a.passed * b.total == b.passed * a.total:
            kind = "same"
        elif a.passed > _at_most(b, of):
            kind = "regression"
        elif b.passed > _at_most(a, of):
            kind = "fix"
        else:
            why = _why(a, b)
    return VerdictChange(function=function, kind=kind, a=a, b=b, why=why)


def side_verdict(cell: Cell | None, which: WhichVerdict) -> SideVerdict | None:
    if cell is None:
        return None
    judgement = cell.judged(which) or Judgement("unknown", 0, 0, cell.not_counted_cause if cell.total == 0 else None)
    return SideVerdict(**judgement._asdict(), flaky=cell.flaky)


def counts(changes: Sequence[VerdictChange]) -> Counts:
    kinds = Counter(change.kind for change in changes)
    known = [(c.a.verdict, c.b.verdict) for c in changes if c.kind in ("regression", "fix") and c.a and c.b]
    return Counts(
        fails_on_a_passes_on_b=sum(a in FAILING and b == "success" for a, b in known),
        passes_on_a_fails_on_b=sum(a == "success" and b in FAILING for a, b in known),
        regressions=kinds["regression"],
        fixes=kinds["fix"],
        same=kinds["same"],
        insufficient=kinds["insufficient data"],
    )


def _at_most(verdict: SideVerdict, of: int) -> int:
    """The number of cases that might have passed."""
    return verdict.passed + verdict.flaky + (of - verdict.total)


def _why(a: SideVerdict, b: SideVerdict) -> str:
    if a.total != b.total:
        return f"{a.total} cases counted on A, {b.total} on B"
    return "runs of a case disagree"


def _missing(a: SideVerdict | None, b: SideVerdict | None) -> str | None:
    for side, verdict in (("A", a), ("B", b)):
        if verdict is None:
            return f"no outcome on {side}"
        if verdict.total == 0:
            return f"no counted case on {side}"
    return None


def _host_only(a: Cell | None, b: Cell | None) -> bool:
    return any(cell is not None and cell.verdict_on_device is None for cell in (a, b))
