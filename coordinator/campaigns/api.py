"""Campaigns over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response, status
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event
from pydantic import BaseModel

from coordinator.campaigns import service
from coordinator.campaigns.models import CampaignDetail, CampaignPage, CampaignRequest, DryRun
from coordinator.context import Context
from coordinator.database.outage import DATABASE_AWAY, reason_of
from coordinator.logs import get_logger
from coordinator.parameters import CampaignId, CampaignNumber
from coordinator.problems import DATABASE_PROBLEM
from protocol.problems import problem_responses

log = get_logger(__name__)

router = APIRouter(prefix="/campaigns", tags=["campaigns"])

EVENTS_EVERY_S = 0.5
KEEP_ALIVE_S = 10.0


@router.post("", status_code=status.HTTP_201_CREATED, responses={200: {"model": DryRun}, **problem_responses(400)})
async def submit(request: CampaignRequest, response: Response, context: Context) -> CampaignDetail | DryRun:
    """Plan and queue a campaign; with `dry_run`, say what would be planned and store nothing."""
    if request.dry_run:
        response.status_code = status.HTTP_200_OK
        return await service.dry_run(context.engine, request)
    campaign = await service.submit(context.engine, request)
    await context.dispatcher.announce("jobs")
    response.headers["Location"] = f"/api/v1/campaigns/{campaign.id}"
    return campaign


@router.get("")
async def listed(
    context: Context,
    before: CampaignNumber = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> CampaignPage:
    """Campaigns, newest first."""
    return await service.listed(context.engine, before=before, limit=limit)


@router.get("/{campaign_id}", responses=problem_responses(404))
async def detail(campaign_id: CampaignId, context: Context) -> CampaignDetail:
    """State, counters and estimate, as a whole and by target."""
    return await service.detail(context.engine, campaign_id)


@router.post("/{campaign_id}/cancel", responses=problem_responses(404, 409))
async def cancel(campaign_id: CampaignId, context: Context) -> CampaignDetail:
    """Cancel what is not done; outcomes so far stay."""
    campaign = await service.cancel(context.engine, campaign_id)
    await context.dispatcher.announce("cancel")
    return campaign


@router.get(
    "/{campaign_id}/events",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "`progress` events, then one `ended` or `away`"},
        **problem_responses(404),
    },
)
async def events(campaign_id: CampaignId, request: Request, context: Context) -> StreamingResponse:
    """Server-sent events: `progress` whenever a counter has changed, `ended` at the end, `away` if the database is."""
    first = await service.detail(context.engine, campaign_id)
    return StreamingResponse(
        _events(first, request, context), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def _events(campaign: CampaignDetail, request: Request, context: Context) -> AsyncIterator[bytes]:
    yield _event("progress", campaign)
    quiet_s = 0.0
    while campaign.state == "running" and not await request.is_disconnected():
        await asyncio.sleep(EVENTS_EVERY_S)
        try:
            now = await service.detail(context.engine, campaign.id)
        except DATABASE_AWAY as error:
            # The status is sent. Whoever watches asks again, and gets a 503 until it is back.
            log.warning("the campaign cannot be followed", reason=reason_of(error))
            yield _event("away", DATABASE_PROBLEM)
            return
        if (now.counters, now.state) != (campaign.counters, campaign.state):
            yield _event("progress", now)
            quiet_s = 0.0
        else:
            quiet_s += EVENTS_EVERY_S
            if quiet_s >= KEEP_ALIVE_S:
                yield format_sse_event(comment="still here")
                quiet_s = 0.0
        campaign = now
    yield _event("ended", campaign)


def _event(kind: str, content: BaseModel) -> bytes:
    return format_sse_event(event=kind, data_str=content.model_dump_json())
