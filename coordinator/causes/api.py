"""Reclassification and overrides over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, status

from coordinator.access.caller import CurrentCaller, needs
from coordinator.access.roles import Role
from coordinator.causes import service
from coordinator.causes.models import Name, Override, OverrideList, OverrideRequest, Reclassified
from coordinator.http.context import Context
from coordinator.http.parameters import CampaignId
from coordinator.http.routers import RestRouter
from protocol.problems import problem_responses

router = RestRouter(tags=["review"])


@router.post("/reclassify", dependencies=[needs(Role.operator)])
async def reclassify_all(context: Context) -> Reclassified:
    """Apply the current rules to the stored evidence of all campaigns, in one transaction."""
    return await service.reclassify(context.engine, None)


@router.post(
    "/campaigns/{campaign_id}/reclassify", dependencies=[needs(Role.operator)], responses=problem_responses(404)
)
async def reclassify(campaign_id: CampaignId, context: Context) -> Reclassified:
    """Apply the current rules to the stored evidence of one campaign. Causes that a person set do not change."""
    return await service.reclassify(context.engine, campaign_id)


@router.get("/campaigns/{campaign_id}/overrides", responses=problem_responses(404))
async def overrides(campaign_id: CampaignId, context: Context) -> OverrideList:
    """The overridden causes. Each has the person who set it, the reason and the time."""
    return OverrideList(overrides=await service.overrides(context.engine, campaign_id))


@router.put(
    "/campaigns/{campaign_id}/overrides",
    dependencies=[needs(Role.operator)],
    responses=problem_responses(404, 409),
)
async def override(
    campaign_id: CampaignId, request: OverrideRequest, context: Context, caller: CurrentCaller
) -> Override:
    """Set the cause of a case on a target, for all runs of the case that did not pass, in the caller's name. This
    replaces an earlier override."""
    return await service.override(context.engine, campaign_id, request, caller.name)


@router.delete(
    "/campaigns/{campaign_id}/overrides",
    status_code=status.HTTP_204_NO_CONTENT,
    dependencies=[needs(Role.operator)],
    responses=problem_responses(404, 409),
)
async def undo(
    campaign_id: CampaignId, context: Context, case: Annotated[Name, Query()], target: Annotated[Name, Query()]
) -> None:
    """Remove an override. The cause that the rules decide applies again."""
    await service.undo(context.engine, campaign_id, case, target)
