"""Outcomes over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Literal

from fastapi import Depends, Query, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from coordinator.access.caller import CurrentCaller
from coordinator.http.context import Context
from coordinator.http.parameters import CampaignId
from coordinator.http.routers import RestRouter
from coordinator.http.storable import LARGEST_BIGINT, Text
from coordinator.results.api import RuleParameter, refuse_former_parameters
from coordinator.results.outcomes import service
from coordinator.results.outcomes.models import Format, OutcomePage
from coordinator.results.outcomes.store import Filters
from protocol.enums import Cause, Ending, Judge, Placement
from protocol.problems import problem_responses

VerdictFilter = Literal["passed", "failed", "skipped", "incomplete", "unknown"]

router = RestRouter(
    prefix="/campaigns/{campaign_id}",
    tags=["outcomes"],
    responses=problem_responses(404),
    dependencies=[Depends(refuse_former_parameters)],
)


def _filters(
    rule: RuleParameter,
    verdict: Annotated[
        VerdictFilter | None,
        Query(description="the verdict by the rule; `unknown`: the case passed with unknown placement"),
    ] = None,
    cause: Cause | None = None,
    placement: Annotated[
        Placement | None, Query(description="`fell_back`: the framework silently ran the case on the host")
    ] = None,
    ending: Annotated[Ending | None, Query(description="`mismatched`: the case ran, and a value was wrong")] = None,
    function: Annotated[Text | None, Query(max_length=200, description="a glob, such as `torch.nn.*`")] = None,
    framework: Annotated[Text | None, Query(max_length=100)] = None,
    device: Annotated[Text | None, Query(max_length=100)] = None,
    judged_by: Annotated[Judge | None, Query(description="the source of the expected values")] = None,
) -> Filters:
    return Filters(rule.name, verdict, cause, placement, ending, function, framework, device, judged_by)


_MEDIA = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
FormatParameter = Annotated[Format, Query(description="csv and parquet have all rows, json has one page")]


async def _room_for_file(
    context: Context, caller: CurrentCaller, format: FormatParameter = "json"
) -> AsyncIterator[None]:
    """Hold a download slot until a file has been sent. A page of rows needs no slot."""
    if format == "json":
        yield
        return
    async with context.downloads.hold(caller.name):
        yield


@router.get(
    "/outcomes",
    response_model=OutcomePage,
    dependencies=[Depends(_room_for_file)],
    responses={200: {"content": {"text/csv": {}, "application/vnd.apache.parquet": {}}}},
)
async def outcomes(
    campaign_id: CampaignId,
    context: Context,
    caller: CurrentCaller,
    filters: Annotated[Filters, Depends(_filters)],
    after: Annotated[int, Query(ge=0, le=LARGEST_BIGINT, description="`next` of the previous page")] = 0,
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
    format: FormatParameter = "json",
) -> Response | OutcomePage:
    """Rows of `outcome_rows`. JSON comes in pages. csv and parquet contain all rows."""
    if format == "json":
        return await service.page(context.engine, campaign_id, filters, after=after, limit=limit)
    await service.check(context.engine, campaign_id, filters)
    async with context.exports.hold(caller.name):
        if format == "csv":
            export = await service.as_csv(context.engine, campaign_id, filters)
        else:
            export = await service.as_parquet(context.dsn, campaign_id, filters, context.bounds.export_seconds)
    return FileResponse(
        export.path,
        filename=f"campaign-{campaign_id}.{format}",
        media_type=_MEDIA[format],
        background=BackgroundTask(export.close),
    )
