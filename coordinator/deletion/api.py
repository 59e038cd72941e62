"""Deletion over HTTP."""

from __future__ import annotations

from coordinator.access.caller import needs
from coordinator.access.roles import Role
from coordinator.deletion import service
from coordinator.deletion.models import DeletedCampaign, StoredSuite, StoredSuites
from coordinator.http.context import Context
from coordinator.http.parameters import CampaignId, SuiteId
from coordinator.http.routers import RestRouter
from protocol.problems import problem_responses

router = RestRouter(tags=["deletion"])


@router.delete("/campaigns/{campaign_id}", dependencies=[needs(Role.operator)], responses=problem_responses(404, 409))
async def delete_campaign(campaign_id: CampaignId, context: Context) -> DeletedCampaign:
    """Delete an ended campaign with its jobs, outcomes and overrides. For an imported campaign, also delete the suite
    that its bundle added."""
    return await service.delete_campaign(context.engine, campaign_id)


@router.get("/suites")
async def list_suites(context: Context) -> StoredSuites:
    """Every stored suite and revision, and what prevents its deletion."""
    return await service.list_suites(context.engine)


@router.delete("/suites/{suite_id}", dependencies=[needs(Role.operator)], responses=problem_responses(404, 409))
async def delete_suite(suite_id: SuiteId, context: Context) -> StoredSuite:
    """Delete one revision of a suite, so that it can be stored again. Answers 409 while a campaign or a runner uses
    it."""
    return await service.delete_suite(context.engine, suite_id)
