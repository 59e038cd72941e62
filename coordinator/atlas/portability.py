"""Published data: ``portability-torch.json`` has the content of the pages in a form for programs. This module does no
I/O.

The format has a semantic version. A new member increases the minor number. A removed member, or a member whose meaning
changed, increases the major number. If a function has no cell for a target, the function was not charted on that
target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_core import to_json

from coordinator.assess.evidence import TargetKey
from coordinator.atlas.function_view import FunctionResults, FunctionView
from coordinator.atlas.marks import Mark
from coordinator.atlas.overview import FrameworkOverview, TargetColumn
from coordinator.atlas.versions import Span
from coordinator.results.involvement import Met

VERSION: Literal["1.4.0"] = "1.4.0"

ADDED_SPARSELY = ("second_shape_ms", "first_call_ms", "operations")
"""Members of a cell that are omitted if they are empty."""


class PublishedChart(BaseModel):
    """A chart, from which evidence comes: a suite, its revision, and the time at which the suite was charted."""

    suite: str
    revision: str
    at: datetime
    campaign: int | None = Field(description="Its number at the coordinator that charted it; null for a bundle.")
    signed_by: str | None = Field(
        default=None, description="The publisher's name for the key that signed the bundle; null if it was not checked."
    )
    unsigned: bool = Field(
        default=False,
        description="Whether it was imported or read without a trusted signature, or with one that was revoked later.",
    )


class PublishedTarget(BaseModel):
    """A version of a framework on one device and hardware."""

    target: str
    version: str
    device: str
    hardware: str
    simulated: bool
    notes: list[str] = Field(description="Sentences that must be shown with every result of the target.")
    charts: list[PublishedChart]


class PublishedDisagreement(BaseModel):
    """An older chart in which some cases of a function have other results than the evidence."""

    chart: int = Field(ge=0, description="The index of the older chart in the target's `charts`.")
    cases: int = Field(ge=1, description="Cases with another result in the older chart.")


class PublishedOperation(BaseModel):
    """One of the framework's own operations involved in cases of a function."""

    operation: str
    met: Met = Field(
        description="`fell_back`: the host ran it; `failed`: it made cases fail; `diverged`: its result is the first "
        "that differs from the host's; `not_lowered`: it has no lowering for the platform."
    )
    cases: int = Field(ge=1)


class PublishedCell(BaseModel):
    """The results of a function on a target: its cases by result, and the conditions under which cases do not work."""

    target: int = Field(ge=0, description="The index of the target in `targets`.")
    mark: Mark
    cases: int = Field(ge=0, description="Counted cases.")
    failed: int = Field(ge=0)
    wrong: int = Field(ge=0, description="Failed cases that gave wrong values without an error.")
    fell_back: int = Field(ge=0, description="Cases that the framework silently ran on the host.")
    unproven: int = Field(ge=0, description="Cases that passed without proof that they ran on the device.")
    host_work: int = Field(
        ge=0,
        description="Cases of data sets, strings, tables, files and prints, for which no device is made. They are not "
        "in `cases`.",
    )
    accepted: int = Field(
        default=0,
        ge=0,
        description="Cases that returned a result where the host raises an error. They are not in `cases`.",
    )
    independent: int = Field(ge=0, description="Cases that an independent reference judged.")
    conditions: list[str]
    dtypes: list[str] = Field(default=[], description="The dtypes of the arrays of its cases.")
    charts: list[int] = Field(description="The indexes of its charts in the target's `charts`.")
    since: str | None = Field(
        default=None,
        description="The first of the consecutive charted versions up to this target's version that have this mark. "
        "Null if the document was written before 1.2.0.",
    )
    since_after: str | None = Field(
        default=None,
        description="The charted version before `since`, which has another mark. The mark changed between the two; no "
        "version between them was charted. Null if no older version was charted.",
    )
    until: str | None = Field(
        default=None,
        description="The last of the consecutive charted versions from this target's version on that have this mark. "
        "Null if the document was written before 1.2.0.",
    )
    until_before: str | None = Field(
        default=None,
        description="The charted version after `until`, which has another mark. The mark changed between the two. Null "
        "if no newer version was charted.",
    )
    disagreements: list[PublishedDisagreement] = Field(
        default=[], description="Older charts in which the same cases have other results, newest first."
    )
    second_shape_ms: float | None = Field(
        default=None,
        description="Milliseconds of the first call in a second shape, in a process that has already run the function. "
        "Null or missing if not measured.",
    )
    first_call_ms: float | None = Field(
        default=None,
        description="Milliseconds of the first call in its process, for comparison with `second_shape_ms`. Null or "
        "missing if not measured.",
    )
    operations: list[PublishedOperation] = Field(
        default=[],
        description="Operations of the framework that ran on the host or made cases fail, if the evidence names them. "
        "Missing if there are none.",
    )


class PublishedFunction(BaseModel):
    """A function, with its cells on all targets that have evidence about it."""

    uses: int | None = Field(description="Number of uses in the counted packages; null if not counted.")
    cells: list[PublishedCell]
    since: dict[str, str] = Field(
        description="For each device and hardware, a sentence with the first version that has the newest mark."
    )


class Portability(BaseModel):
    """The published document."""

    version: Literal["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0"] = Field(
        description="The version of this format, not of Portolan."
    )
    framework: str
    made_at: datetime | None = Field(description="The time of the newest outcome; null if there is none.")
    targets: list[PublishedTarget]
    functions: dict[str, PublishedFunction]


def portability(framework: FrameworkOverview, views: Iterable[FunctionView]) -> Portability:
    """The document about a framework, built from the views of the framework's functions."""
    return _document(framework.name, framework.columns, views)


def function_portability(view: FunctionView) -> Portability:
    """A document with one function, and with only the targets that have evidence about this function."""
    return _document(view.framework, [target.column for target in view.targets], [view])


def document_json(document: Portability) -> bytes:
    """The document in the published form. Members that version 1.3.0 added are omitted if they are empty, because most
    cells do not have them, and because empty ones would take a tenth of the file."""
    values = document.model_dump(mode="json")
    for function in values["functions"].values():
        for cell in function["cells"]:
            for name in ADDED_SPARSELY:
                if not cell[name]:
                    del cell[name]
    return to_json(values)


def _document(framework: str, columns: Sequence[TargetColumn], views: Iterable[FunctionView]) -> Portability:
    numbers = {column.evidence.key: number for number, column in enumerate(columns)}
    return Portability(
        version=VERSION,
        framework=framework,
        made_at=max((column.evidence.charted_at for column in columns), default=None),
        targets=list(map(_target, columns)),
        functions={view.name: _function(view, numbers) for view in views},
    )


def _target(column: TargetColumn) -> PublishedTarget:
    evidence = column.evidence
    return PublishedTarget(
        target=evidence.target,
        version=evidence.version,
        device=evidence.device,
        hardware=evidence.hardware,
        simulated=evidence.simulated,
        notes=list(evidence.sentences),
        charts=[
            PublishedChart(
                suite=chart.suite,
                revision=chart.revision,
                at=chart.at,
                campaign=chart.campaign,
                signed_by=chart.signed_by,
                unsigned=chart.is_unsigned,
            )
            for chart in evidence.charts
        ],
    )


def _function(view: FunctionView, numbers: Mapping[TargetKey, int]) -> PublishedFunction:
    return PublishedFunction(
        uses=view.uses,
        cells=[_cell(target, numbers[target.column.evidence.key], view.span(target)) for target in view.targets],
        since={f"{line.device} on {line.hardware}": line.since for line in view.lines if line.since is not None},
    )


def _cell(target: FunctionResults, number: int, span: Span) -> PublishedCell:
    cell = target.cell
    return PublishedCell(
        target=number,
        mark=cell.mark,
        cases=cell.total,
        failed=cell.failed,
        wrong=cell.wrong,
        fell_back=cell.fell_back,
        unproven=cell.unproven,
        host_work=cell.host_work,
        accepted=cell.accepted,
        independent=target.condition.independent,
        conditions=list(target.conditions),
        dtypes=list(target.condition.dtypes),
        charts=list(target.charts),
        since=span.since,
        since_after=span.since_after,
        until=span.until,
        until_before=span.until_before,
        disagreements=[PublishedDisagreement(chart=one.number, cases=one.cases) for one in target.disagreements],
        second_shape_ms=target.second_shape.shape_ms if target.second_shape else None,
        first_call_ms=target.second_shape.process_ms if target.second_shape else None,
        operations=[
            PublishedOperation(operation=one.operation, met=one.met, cases=one.cases) for one in target.operations
        ],
    )
