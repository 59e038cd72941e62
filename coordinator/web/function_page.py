"""One function in one campaign: every case and run on every target, with the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from fastapi import Request, Response

from coordinator.causes.rules import readable
from coordinator.http.context import Context
from coordinator.http.parameters import CampaignId, PathName
from coordinator.http.routers import PageRouter
from coordinator.results import service as matrix
from coordinator.results.condition_rows import option_words
from coordinator.results.outcomes import details
from coordinator.results.outcomes.models import CaseDetail, FunctionDetail, RunDetail
from coordinator.web.pages import page
from coordinator.web.plots import PlotScale, scale_of, strips
from protocol.enums import Placement, Unproven, Verdict

router = PageRouter()

SAID = 600
"""The maximum number of characters of a failure's message. The page of the outcome has all."""
MOST_CASES = 12
"""The maximum number of cases on a target that are all shown at once."""
_KNOWN_PLACEMENTS = {Placement.on_device, Placement.host_only}


def fold_cases(cases: Sequence[CaseDetail]) -> tuple[Sequence[CaseDetail], Sequence[CaseDetail]]:
    """The cases that are shown at once, and those that a reader has to unfold: if there are many, the cases without
    samples that passed on the device, or with the error that they expect."""
    if len(cases) <= MOST_CASES:
        return cases, []
    return [case for case in cases if not _is_plain(case)], [case for case in cases if _is_plain(case)]


def _is_plain(case: CaseDetail) -> bool:
    return all(
        run.verdict == Verdict.passed
        and (run.placement in _KNOWN_PLACEMENTS or run.unproven == Unproven.refuses)
        and not run.samples_ms
        for run in case.runs
    )


@router.get("/campaigns/{campaign_id}/functions/{framework}/{function:path}")
async def function(
    request: Request, campaign_id: CampaignId, framework: PathName, function: PathName, context: Context
) -> Response:
    detail = await details.function(context.engine, campaign_id, framework, function)
    cells = await matrix.cells_of(context.engine, campaign_id, framework, function)
    scale = scale_of(run.samples_ms for target in detail.targets for case in target.cases for run in case.runs)
    return page(
        request,
        "function.html",
        detail,
        rows=list(_records(detail)),
        cells={cell.target_id: cell for cell in cells},
        summary_of=partial(_summary, scale),
        fold_cases=fold_cases,
    )


def _records(detail: FunctionDetail) -> Iterator[dict[str, Any]]:
    """One record per run, for the csv."""
    for target in detail.targets:
        for case in target.cases:
            for run in case.runs:
                values = run.model_dump(exclude={"samples_ms", "fallbacks"})
                yield {
                    "target": target.target,
                    "hardware": target.hardware,
                    "case": case.case,
                    "judged_by": case.judged_by,
                    "input_kinds": case.input_kinds,
                    "options": case.options,
                    **values,
                }


def _summary(scale: PlotScale | None, case: CaseDetail) -> dict[str, Any]:
    """The runs of a case, next to each other."""
    worst = next((run for run in case.runs if run.verdict != "passed"), case.runs[0])
    message = readable(worst.said) if worst.said else ""
    return {
        "drawing": strips([run.samples_ms for run in case.runs], scale),
        "causes": dict.fromkeys(_cause(run) for run in case.runs if run.cause),
        "said": message if len(message) <= SAID else f"{message[:SAID]}…",
        "fallbacks": dict.fromkeys(name for run in case.runs for name in run.fallbacks),
        "unproven": dict.fromkeys(run.unproven for run in case.runs if run.unproven),
        "repeat": worst.repeat,
        "call": option_words(case.options) if case.options else "",
    }


def _cause(run: RunDetail) -> str:
    by = f", {run.overridden_by}" if run.overridden_by else ""
    return f"{run.cause} ({run.rule}{by})"
