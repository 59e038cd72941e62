"""The parts of a table that do not depend on its content: targets, counting rule, notes and query. It does no I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from coordinator.figures.counting import ANYWHERE
from coordinator.reference.models import Reference, ReferenceTarget
from coordinator.reports.table import Cell, Column, Table
from coordinator.results.report_data import MEASURES, ReportData
from coordinator.targets.models import Target
from coordinator.targets.selectors import target_name

Row = tuple[Cell, ...]
Basis = Literal["verdicts", "latencies", "placements", "first_calls", "lowerings", "coverage", "judges"]
"""The kind of rows that a table is made of. Each kind comes from one query and is counted by one rule."""
RULES: dict[Basis, str] = {
    "verdicts": "Counted anywhere (in files: verdict), a fallback to the host passes, as in the study. Counted on "
    "device (verdict_on_device), a fallback fails with the cause placement, passing cases with unknown placement are "
    "excluded, and so are functions that never touch a device. Counted without host work "
    "(verdict_without_host_work), cases that failed because of data sets, strings, tables, files or prints are "
    "excluded. A function passes if no case failed; else it fails some or all of them, which the study calls a "
    "partial or a complete failure. Skipped cases (removed, not applicable) and incomplete ones (environment, "
    "infrastructure) are excluded. A function without other cases has no verdict and is excluded from the rates.",
    "latencies": "Only runs that passed and are proven to have run on the device count. The measure is {measure}. A "
    "function's ratio is the geometric mean over the cases that both targets measured, and its latencies are medians "
    "over the same cases. Functions that never touch a device have no ratio. The study's ratio is one mean divided "
    "by another, over everything it measured.",
    "placements": "Cases with a run that passed. A case fell back if any of these runs did; it ran on the device if "
    "all of them are proven to have run there. Cases of functions that never touch a device are excluded.",
    "first_calls": "Only runs that passed on the device count. All latencies are medians over the cases of a "
    "function, of the medians over their runs. The first call of a process is what a user sees: it includes "
    "compilation and all one-time work. The first call of a later case includes only compilation and has no ratio. A "
    "function without a run that began its process has no row. The mean over all functions is geometric.",
    "lowerings": "Programs are lowered for the target's platform on the host and not run there: no case passes or "
    "fails, and nothing is timed. A function has a lowering if all of its lowered cases have one. The rate is the "
    "share of such functions among those with a lowered case.",
    "judges": "Cases with an outcome, each once for all targets and runs. A case is judged by the most independent "
    "reference that agreed when the suite was made. A function is in the row of each reference that judged a case of "
    "it.",
    "coverage": "A function is charted if one of its cases passed, failed or was lowered on a target of the release. "
    "Each object of the release's public surface counts once, under any of its names. A use is a name in the counted "
    "programs. Uses by another name of an object that was run are counted separately, and so are uses whose "
    "receiver's class was guessed. Names that never touch a device and the classes of arrays are excluded.",
}
IDENTITY = (
    Column("source", "source"),
    Column("target", "target"),
    Column("hardware", "hardware"),
    Column("device_class", "class"),
    Column("counted_by", "counted by", "rule"),
)


def identity(data: ReportData, target: Target, counted_by: str) -> Row:
    return (data.name, data.labels[target.id], target.hardware, target.device_class, counted_by)


def published_identity(reference: Reference, target: ReferenceTarget) -> Row:
    """The target's columns in a published row. The study had only one way of counting."""
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
    """Build the table with the notes that its targets and its reference require."""
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
        yield (
            f"The reference charted no device class of this campaign, only {class_names}: its figures are for other "
            "classes."
        )
    yield from data.reference.sentences(frozenset(figures), frozenset(data.frameworks))
