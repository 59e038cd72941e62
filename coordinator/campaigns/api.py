"""Campaigns over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Header, Query, Response, status
from fastapi.responses import StreamingResponse

from coordinator.access.caller import CurrentCaller, needs
from coordinator.access.roles import Role
from coordinator.campaigns import service
from coordinator.campaigns.models import CampaignDetail, CampaignPage, DryRun
from coordinator.campaigns.request import CampaignRequest, Cancellation
from coordinator.http.context import Context
from coordinator.http.parameters import CampaignId, CampaignNumber
from coordinator.http.routers import RestRouter
from protocol.problems import problem_responses

SubmissionKey = Annotated[
    str | None,
    Header(min_length=1, max_length=200, pattern="^[!-~]+$", description="a new random value for each campaign"),
]

router = RestRouter(prefix="/campaigns", tags=["campaigns"])


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    dependencies=[needs(Role.submitter)],
    responses={
        200: {
            "model": DryRun | CampaignDetail,
            "description": "the plan, or the campaign of an earlier request with the same key",
        },
    },
)
async def submit(
    request: CampaignRequest,
    response: Response,
    context: Context,
    caller: CurrentCaller,
    idempotency_key: SubmissionKey = None,
) -> CampaignDetail | DryRun:
    """Plan and queue a campaign. With `dry_run`, return the plan and store nothing.

    A repeated request with the same `Idempotency-Key`, for example after a lost response, creates no second campaign.
    """
    if request.dry_run:
        response.status_code = status.HTTP_200_OK
        return await service.dry_run(context.engine, request, context.bounds)
    campaign, is_new = await service.submit(context.engine, request, context.bounds, caller.name, idempotency_key)
    if is_new:
        await context.announce("jobs")
    else:
        response.status_code = status.HTTP_200_OK
    response.headers["Location"] = f"/api/v1/campaigns/{campaign.id}"
    return campaign


@router.get("")
async def list_campaigns(
    context: Context,
    before: CampaignNumber = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> CampaignPage:
    """Campaigns, newest first."""
    return await service.list_campaigns(context.engine, before=before, limit=limit)


@router.get("/{campaign_id}", responses=problem_responses(404))
async def detail(campaign_id: CampaignId, context: Context) -> CampaignDetail:
    """State, counters and estimated time left, for the campaign and for each target."""
    return await service.detail(context.engine, campaign_id)


@router.post("/{campaign_id}/cancel", dependencies=[needs(Role.submitter)], responses=problem_responses(404, 409))
async def cancel(
    campaign_id: CampaignId, context: Context, caller: CurrentCaller, part: Cancellation | None = None
) -> CampaignDetail:
    """Cancel the jobs that are not done, on some targets or on all. Stored outcomes are kept. A submitter can cancel
    only their own campaigns."""
    campaign = await service.cancel(context.engine, campaign_id, caller, part.targets if part else ())
    await context.announce("cancel")
    return campaign


async def _watch(
    campaign_id: CampaignId, context: Context, caller: CurrentCaller
) -> AsyncIterator[AsyncIterator[bytes]]:
    """Reserve an event stream until the client disconnects."""
    async with context.follower.watch(campaign_id, caller.name) as stream:
        yield stream


@router.get(
    "/{campaign_id}/events",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "`progress` events, then one `ended` or `away`"},
        **problem_responses(404),
    },
)
async def events(stream: Annotated[AsyncIterator[bytes], Depends(_watch)]) -> StreamingResponse:
    """Server-sent events: `progress` when a counter has changed, `ended` when the campaign ends, `away` if the database
    is unreachable."""
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
