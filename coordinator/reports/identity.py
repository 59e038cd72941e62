"""The parts that every table of a campaign has beside its figures: targets, counting rule, notes and query. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from coordinator.counting import ANYWHERE
from coordinator.reference.models import PublishedTarget, Reference
from coordinator.reports.table import Cell, Column, Table
from coordinator.results.report_data import MEASURES, ReportData
from coordinator.targets.models import Target
from coordinator.targets.selectors import target_name

Row = tuple[Cell, ...]
Basis = Literal["verdicts", "latencies", "placements", "first_calls", "lowerings", "coverage", "judges"]
"""The rows that a table is made of: each kind comes from one query and is counted by one rule."""
RULES: dict[Basis, str] = {
    "verdicts": "Counted by verdict, a fallback to the host passes, as in the study; counted by verdict_on_device, it "
    "fails with the cause placement, a case that passed without proof of where is in no denominator, and functions "
    "that never touch a device are left out; counted by verdict_without_host_work, cases that failed as data sets, "
    "strings, tables, files and prints do are left out. A function is a success if none of its cases failed, a "
    "complete failure if all did, partial between. Cases that were skipped (removed, not applicable) or incomplete "
    "(environment, infrastructure) are in no denominator; a function without any other case is unknown, and in no "
    "rate.",
    "latencies": "Only runs that passed count, and of those only the ones proven on the device; measured is {measure}. "
    "A function's ratio is the geometric mean over the cases that both targets measured, and its latencies are medians "
    "over the same cases; functions that never touch a device have none. The study's ratio is one mean divided by the "
    "other, over all it measured.",
    "placements": "Cases of which a run passed. A case fell back if any of its passed runs did; it ran on the device "
    "if all are proven to have. Cases of functions that never touch a device are in no share.",
    "first_calls": "Only runs that passed on the device count. All latencies are medians over a function's cases of "
    "the medians over their runs. The first call of a process is a user's: it holds compilation and all that a process "
    "does once; that of a later case holds compilation alone, and is in no ratio. A function without a run that began "
    "its process has no line. The mean over all functions is geometric.",
    "lowerings": "Programs are lowered for the target's platform on the host, and not run there: no case passed or "
    "failed, and nothing was timed. A function has a lowering if every case of it that was lowered had; the rate is "
    "of functions without a missing lowering, of those of which a case was lowered.",
    "judges": "Cases of which there is an outcome, each once whatever its targets and runs. The most independent "
    "reference that agreed when the suite was made judges a case. A function is in the line of each reference that "
    "judged a case of it.",
    "coverage": "A function is charted if a case of it passed, failed or was lowered on a target of the release. Each "
    "object of the release's public surface counts once, under whichever of its names it was run. A use is a name in "
    "the counted programs; one by another name of an object that was run is counted apart, and so are uses whose "
    "receiver's class was guessed. What never touches a device, and the classes of arrays, are in no share.",
}
IDENTITY = (
    Column("source", "source"),
    Column("target", "target"),
    Column("hardware", "hardware"),
    Column("device_class", "class"),
    Column("counted_by", "counted by"),
)


def identity(data: ReportData, target: Target, counted_by: str) -> Row:
    return (data.name, data.labels[target.id], target.hardware, target.device_class, counted_by)


def published_identity(reference: Reference, target: PublishedTarget) -> Row:
    """The study knew one way of counting."""
    return (reference.name, target_name(target), target.hardware, target.device_class, ANYWHERE.counted_by)


def report_table(
    data: ReportData,
    basis: Basis,
    id: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    remade_from: tuple[str, ...] = (),
    notes: Sequence[str] = (),
) -> Table:
    """The table with the notes that figures of these targets and this reference need."""
    return Table(
        id=id,
        title=title,
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(dict.fromkeys((*notes, *_notes_on_targets(data), *_notes_on_reference(data, remade_from)))),
        counting_rule=RULES[basis].format(measure=MEASURES[data.measure]),
        revisions=tuple(
            dict.fromkeys(
                f"suite {target.suite} of {target.framework}, revision {target.suite_revision}"
                for target in data.targets
            )
        ),
        query=data.queries.verdicts if basis in ("lowerings", "coverage") else getattr(data.queries, basis),
        remade_from=remade_from,
    )


def _notes_on_targets(data: ReportData) -> Iterator[str]:
    return (f"{data.labels[target.id]}: {sentence}" for target in data.targets for sentence in target.sentences)


def _notes_on_reference(data: ReportData, figures: tuple[str, ...]) -> Iterator[str]:
    if data.reference is None:
        return
    yield (
        f"{data.reference.name} is {data.reference.citation}: other versions, other hardware, other tests of the same "
        "functions."
    )
    classes = {target.device_class for target in data.published_targets()}
    if data.targets and not classes & {target.device_class for target in data.targets}:
        class_names = ", ".join(sorted(classes))
        yield f"No target here has a device class that it charted ({class_names}): its figures are for other classes."
    yield from data.reference.sentences(frozenset(figures), frozenset(data.frameworks))
