"""Bundles and the keys that sign them, over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Query, Request, Response, status
from fastapi import Path as PathParameter
from starlette.requests import ClientDisconnect

from coordinator.access.caller import CurrentCaller, needs
from coordinator.access.roles import Role
from coordinator.bundles import reader, service, signer_service
from coordinator.bundles.models import Signer, SignerList, SignerRequest
from coordinator.bundles.signature import HOW_TO_SIGN, LONGEST_SIGNATURE, SIGNATURE
from coordinator.campaigns import service as campaigns
from coordinator.campaigns.models import CampaignDetail
from coordinator.errors import BundleError
from coordinator.http.context import Context
from coordinator.http.routers import RestRouter
from coordinator.http.storable import LARGEST_INTEGER, Text
from protocol.problems import problem_responses

router = RestRouter(tags=["bundles"])

Signature = Annotated[
    str | None,
    Header(
        alias=SIGNATURE,
        max_length=LONGEST_SIGNATURE,
        pattern="^[A-Za-z0-9+/]+={0,2}$",
        description="The lines of the file `.sig` between the first and the last one, joined to one line.",
    ),
]
SignerId = Annotated[int, PathParameter(ge=1, le=LARGEST_INTEGER)]


@router.post(
    "/bundles",
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
    signature: Signature = None,
    accept_unsigned: Annotated[
        bool, Query(alias="unsigned", description="Whether a bundle without a signature is accepted.")
    ] = False,
) -> CampaignDetail:
    """Store the bundle in the body of the request as a finished campaign.

    The same bundle is stored only once. A bundle is refused unless a trusted key signed it. With `unsigned=true`, a
    bundle without a signature is stored as unsigned.
    """
    if signature is None and not accept_unsigned:
        raise BundleError(
            f"the bundle is not signed: ask its maker to sign it with `{HOW_TO_SIGN} FILE` and send the signature in "
            f"the header {SIGNATURE}, or accept the bundle without a signature, with unsigned=true"
        )
    content_length = request.headers.get("content-length", "")
    if content_length.isdecimal():
        reader.require_size(int(content_length))
    try:
        async with service.receive(request.stream()) as file:
            signer = None if signature is None else await signer_service.signer_of(context.engine, file, signature)
            campaign_id, is_new = await service.import_bundle(context.engine, file, name, caller.name, signer)
    except ClientDisconnect:
        raise BundleError("the upload ended before the bundle was complete: send it again") from None
    if not is_new:
        response.status_code = status.HTTP_200_OK
    response.headers["Location"] = f"/api/v1/campaigns/{campaign_id}"
    return await campaigns.detail(context.engine, campaign_id)


@router.get("/signers")
async def list_signers(context: Context) -> SignerList:
    """All keys that sign bundles, trusted or revoked, newest first."""
    return SignerList(signers=await signer_service.list_signers(context.engine))


@router.post(
    "/signers",
    status_code=status.HTTP_201_CREATED,
    dependencies=[needs(Role.operator)],
    responses=problem_responses(409),
)
async def add_signer(request: SignerRequest, caller: CurrentCaller, context: Context) -> Signer:
    """Trust a key."""
    return await signer_service.add_signer(context.engine, request, caller.name)


@router.delete("/signers/{signer_id}", dependencies=[needs(Role.operator)], responses=problem_responses(404))
async def revoke_signer(signer_id: SignerId, caller: CurrentCaller, context: Context) -> Signer:
    """Revoke a key. From now on, bundles that it signed are refused, and stored bundles that it signed count as
    unsigned."""
    return await signer_service.revoke_signer(context.engine, signer_id, caller.name)
