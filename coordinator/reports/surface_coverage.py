"""The table of coverage: the share of each framework's public functions that a campaign charted, unweighted and
weighted by use. It does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator

from coordinator.catalogue.coverage import remark
from coordinator.catalogue.models import Coverage, Share
from coordinator.reports.identity import Row, report_table
from coordinator.reports.table import Cell, Column, Missing, Table
from coordinator.results.report_data import ReportData

PARTS = {
    "functions": "functions and classes",
    "members": "members of classes",
    "uses": "certain uses",
    "guessed": "guessed uses",
    "host_only": "names that never touch a device",
}


def coverage(data: ReportData) -> Table:
    rows: list[Row] = [
        (
            *(data.name, row.instead_of or row.release, row.release),
            *(cell for part in PARTS for cell in _cells(getattr(row, part))),
            row.uses.twins if row.uses is not None else None,
            *(row.array_uses, len(row.removed), row.unresolved_uses),
        )
        for row in data.coverages
    ]
    columns = (
        Column("source", "source"),
        Column("charted", "charted"),
        Column("release", "surface of"),
        *(column for part, label in PARTS.items() for column in _columns(part, label)),
        Column("uses_by_other_names", "uses of charted objects by other names", "number"),
        Column("array_uses", "uses of the classes of arrays", "number"),
        Column("not_in_it", "charted functions missing in the surface", "number"),
        Column("uses_unresolved", "uses of names missing in the surface", "number"),
    )
    return report_table(
        data,
        "coverage",
        "coverage",
        "Coverage: how much of each framework was charted",
        columns,
        rows,
        (),
        tuple(_notes(data)),
    )


def _columns(part: str, label: str) -> tuple[Column, ...]:
    return (
        Column(f"{part}_charted", f"{label} charted", "number"),
        Column(part, f"of all {label}", "number"),
        Column(f"{part}_percent", "share", "percent"),
    )


def _cells(share: Share | None) -> tuple[Cell, ...]:
    if share is None:
        return (None, None, None)
    ratio = share.ratio
    return (share.charted, share.of, Missing.none_counted if ratio is None else round(100 * ratio, 1))


def _notes(data: ReportData) -> Iterator[str]:
    for row in data.coverages:
        yield remark(row)
        yield from _nearest(row)
    if data.reference is not None:
        yield f"{data.reference.name} did not publish this."


def _nearest(row: Coverage) -> Iterator[str]:
    if row.instead_of is not None:
        yield f"Portolan ships no surface of {row.instead_of}; the nearest one, {row.release}, is used."
