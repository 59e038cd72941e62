"""One function in one campaign: every case and run on every target, with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from coordinator.causes.rules import readable
from coordinator.context import Context
from coordinator.parameters import CampaignId, PathName
from coordinator.results import service as matrix
from coordinator.results.models import Cell
from coordinator.results.outcomes import details
from coordinator.results.outcomes.models import CaseDetail, FunctionDetail, FunctionOnTarget, RunDetail
from coordinator.web.matrix import Shown, shown
from coordinator.web.pages import page
from coordinator.web.plots import Scale, scale_of, strips

router = APIRouter()

SAID = 600
"""So many characters of what a case died of; its outcome's page has all."""


@dataclass(frozen=True)
class CaseLine:
    """A case on a target, its runs side by side."""

    case: CaseDetail
    drawing: Markup | None
    causes: tuple[str, ...]
    said: str | None
    fallbacks: tuple[str, ...]
    repeat: str


@dataclass(frozen=True)
class Section:
    """All of the function on one target."""

    target: FunctionOnTarget
    cell: Cell | None
    summary: Shown | None
    lines: tuple[CaseLine, ...]


@router.get("/campaigns/{campaign_id}/functions/{framework}/{function:path}")
async def function(
    request: Request, campaign_id: CampaignId, framework: PathName, function: PathName, context: Context
) -> Response:
    found = await details.function(context.engine, campaign_id, framework, function)
    cells = await matrix.cells_of(context.engine, campaign_id, framework, function)
    rows = list(records(found))
    return page(request, "function.html", found, rows=rows, sections=sections(found, cells))


def sections(found: FunctionDetail, cells: Sequence[Cell]) -> list[Section]:
    by_target = {each.target_id: each for each in cells}
    scale = scale_of(run.samples_ms for each in found.targets for case in each.cases for run in case.runs)
    return [_section(each, by_target.get(each.target_id), scale) for each in found.targets]


def records(found: FunctionDetail) -> Iterator[dict[str, Any]]:
    """One record a run, for csv."""
    for target in found.targets:
        for case in target.cases:
            for run in case.runs:
                values = run.model_dump(exclude={"samples_ms", "fallbacks"})
                yield {"target": target.target, "hardware": target.hardware, "case": case.case} | values


def _section(target: FunctionOnTarget, cell: Cell | None, scale: Scale | None) -> Section:
    return Section(
        target=target,
        cell=cell,
        summary=None if cell is None else shown(cell, "anywhere"),
        lines=tuple(_line(case, scale) for case in target.cases),
    )


def _line(case: CaseDetail, scale: Scale | None) -> CaseLine:
    worst = next((run for run in case.runs if run.verdict != "passed"), case.runs[0])
    return CaseLine(
        case=case,
        drawing=strips([run.samples_ms for run in case.runs], scale),
        causes=tuple(dict.fromkeys(_cause(run) for run in case.runs if run.cause)),
        said=_cut(readable(worst.said)) if worst.said else None,
        fallbacks=tuple(dict.fromkeys(name for run in case.runs for name in run.fallbacks)),
        repeat=worst.repeat,
    )


def _cause(run: RunDetail) -> str:
    by = f", {run.overridden_by}" if run.overridden_by else ""
    return f"{run.cause} ({run.rule}{by})"


def _cut(text: str) -> str:
    return text if len(text) <= SAID else f"{text[:SAID]}…"
