"""What every table of a campaign says beside its figures: of which target, how counted, and what holds of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.reference.models import PublishedTarget, Reference
from coordinator.reports.table import Cell, Column, Table
from coordinator.results.report_data import ReportData
from coordinator.targets.models import Target
from coordinator.targets.selectors import spelled

COUNTED_BY = ("verdict", "verdict_on_device")
COUNTING_RULE = (
    "Counted by verdict, a fallback to the host passes, as in the study; counted by verdict_on_device, it fails with "
    "the cause placement, a case that passed without proof of where is in no denominator, and functions that never "
    "touch a device are left out. A function is a success if none of "
    "its cases failed, a complete failure if all did, partial between. Cases that were skipped (removed, not "
    "applicable) or incomplete (environment, infrastructure) are in no denominator; a function without any other "
    "case is unknown, and in no rate."
)

IDENTITY = (
    Column("source", "source"),
    Column("target", "target"),
    Column("hardware", "hardware"),
    Column("device_class", "class"),
    Column("counted_by", "counted by"),
)


def identity(charted: ReportData, target: Target, counted_by: str) -> tuple[Cell, ...]:
    return (charted.name, charted.labels[target.id], target.hardware, target.device_class, counted_by)


def published_identity(reference: Reference, target: PublishedTarget) -> tuple[Cell, ...]:
    """The study knew one way of counting."""
    return (reference.name, spelled(target), target.hardware, target.device_class, "verdict")


def aligned(rows: Sequence[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """What can be set beside each other stands together: by framework, then by class; the order stays otherwise."""
    return sorted(rows, key=lambda row: (str(row[_TARGET]).partition("@")[0], str(row[_CLASS])))


_TARGET, _CLASS = (
    next(n for n, each in enumerate(IDENTITY) if each.name == name) for name in ("target", "device_class")
)


def tabled(
    charted: ReportData,
    id: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[tuple[Cell, ...]],
    *,
    rule: str,
    query: str,
    remade_from: tuple[str, ...],
    notes: Sequence[str] = (),
) -> Table:
    """The table with all that must stand beside figures of these targets and this reference."""
    targets = (f"{charted.labels[each.id]}: {said}" for each in charted.targets for said in each.sentences)
    return Table(
        id=id,
        title=title,
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(dict.fromkeys((*notes, *targets, *_of_the_reference(charted, remade_from)))),
        counting_rule=rule,
        revisions=tuple(
            dict.fromkeys(
                f"suite {each.suite} of {each.framework}, revision {each.suite_revision}" for each in charted.targets
            )
        ),
        query=query,
        remade_from=remade_from,
    )


def _of_the_reference(charted: ReportData, figures: tuple[str, ...]) -> tuple[str, ...]:
    if charted.reference is None:
        return ()
    return (
        f"{charted.reference.name} is {charted.reference.citation}: other versions, other hardware, other tests of the "
        "same functions.",
        *_of_no_common_class(charted),
        *charted.reference.sentences(frozenset(figures), frozenset(charted.frameworks)),
    )


def _of_no_common_class(charted: ReportData) -> tuple[str, ...]:
    classes = {each.device_class for each in charted.published()}
    if not charted.targets or classes & {each.device_class for each in charted.targets}:
        return ()
    return (f"No target here is of a class that it charted ({', '.join(sorted(classes))}): its figures are of others.",)
