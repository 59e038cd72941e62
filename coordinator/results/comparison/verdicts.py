"""Has a function's verdict changed? Pure.

It is a regression or a fix only if that does not hang on cases whose runs disagreed, nor on cases
that only the other side counted: however those had come out, it would be one. Else the data are
insufficient.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coordinator.results.comparison.models import Change, Counts, Half, Kind
from coordinator.results.models import Cell, Judged, WhichVerdict

FAILING = ("partial", "complete")


def compared(a: Sequence[Cell], b: Sequence[Cell], which: WhichVerdict) -> list[Change]:
    """Every function of either side, by name. Those that never touch a device have no verdict on it."""
    before = {each.function: each for each in a}
    after = {each.function: each for each in b}
    names = sorted(before.keys() | after.keys())
    return [
        change(name, half(before.get(name), which), half(after.get(name), which))
        for name in names
        if which == "anywhere" or not _host_only(before.get(name), after.get(name))
    ]


def change(function: str, a: Half | None, b: Half | None) -> Change:
    missing = _missing(a, b)
    if a is None or b is None or missing is not None:
        return Change(function=function, kind="insufficient data", a=a, b=b, why=missing)
    if a.passed * b.total == b.passed * a.total:
        return Change(function=function, kind="same", a=a, b=b, why=None)
    of = max(a.total, b.total)
    kind: Kind = "insufficient data"
    if a.passed > _at_most(b, of):
        kind = "regression"
    elif b.passed > _at_most(a, of):
        kind = "fix"
    return Change(function=function, kind=kind, a=a, b=b, why=_why(a, b) if kind == "insufficient data" else None)


def half(cell: Cell | None, which: WhichVerdict) -> Half | None:
    if cell is None:
        return None
    judged = cell.judged(which) or Judged("unknown", 0, 0, cell.not_counted_cause if cell.total == 0 else None)
    return Half(**judged._asdict(), flaky=cell.flaky)


def counts(changes: Iterable[Change]) -> Counts:
    changes = list(changes)
    judged = [(each.a, each.b) for each in changes if each.kind in ("regression", "fix") and each.a and each.b]
    return Counts(
        fails_on_a_passes_on_b=sum(a.verdict in FAILING and b.verdict == "success" for a, b in judged),
        passes_on_a_fails_on_b=sum(a.verdict == "success" and b.verdict in FAILING for a, b in judged),
        regressions=sum(each.kind == "regression" for each in changes),
        fixes=sum(each.kind == "fix" for each in changes),
        same=sum(each.kind == "same" for each in changes),
        insufficient=sum(each.kind == "insufficient data" for each in changes),
    )


def _at_most(each: Half, of: int) -> int:
    """How many of the cases might have passed."""
    return each.passed + each.flaky + (of - each.total)


def _why(a: Half, b: Half) -> str:
    if a.total != b.total:
        return f"{a.total} cases counted on A, {b.total} on B"
    return "runs of a case disagree"


def _missing(a: Half | None, b: Half | None) -> str | None:
    for side, each in (("A", a), ("B", b)):
        if each is None:
            return f"no outcome on {side}"
        if each.total == 0:
            return f"no counted case on {side}"
    return None


def _host_only(a: Cell | None, b: Cell | None) -> bool:
    return any(each is not None and each.verdict_on_device is None for each in (a, b))
