"""Bundles over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response, status
from starlette.requests import ClientDisconnect

from coordinator.access.caller import CurrentCaller, needs
from coordinator.access.roles import Role
from coordinator.bundles import reader, service
from coordinator.campaigns import service as campaigns
from coordinator.campaigns.models import CampaignDetail
from coordinator.context import Context
from coordinator.errors import BundleError
from coordinator.routers import RestRouter
from coordinator.storable import Text
from protocol.problems import problem_responses

router = RestRouter(prefix="/bundles", tags=["bundles"])


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    dependencies=[needs(Role.operator)],
    responses={
        200: {"model": CampaignDetail, "description": "the bundle was imported before, as this campaign"},
        **problem_responses(413),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/x-ndjson": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def import_bundle(
    request: Request,
    response: Response,
    context: Context,
    caller: CurrentCaller,
    name: Annotated[Text | None, Query(min_length=1, max_length=200)] = None,
) -> CampaignDetail:
    """Store a bundle, the body of the request, as a campaign that is done. The same bundle is stored once."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal():
        reader.require_size(int(declared))
    try:
        async with service.received(request.stream()) as file:
            campaign_id, is_new = await service.import_bundle(context.engine, file, name, caller.name)
    except ClientDisconnect:
        raise BundleError("the upload broke off") from None
    if not is_new:
        response.status_code = status.HTTP_200_OK
    response.headers["Location"] = f"/api/v1/campaigns/{campaign_id}"
    return await campaigns.detail(context.engine, campaign_id)
