"""The matrix, its summary and a function's history over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from coordinator.context import Context
from coordinator.parameters import CampaignId, PathName, Text
from coordinator.results import service
from coordinator.results.models import History, MatrixPage, WhichVerdict
from coordinator.results.service import MatrixQuery
from protocol.problems import problem_responses

router = APIRouter(tags=["matrix"], responses=problem_responses(404))

VerdictParameter = Annotated[WhichVerdict, Query(description="`on_device`: a fallback to the host fails")]


@router.get("/campaigns/{campaign_id}/matrix")
async def matrix(
    campaign_id: CampaignId,
    context: Context,
    q: Annotated[Text, Query(max_length=1000, description="such as `torch.* fails:xla passes:cpu cause:type`")] = "",
    verdict: VerdictParameter = "anywhere",
    device: Annotated[Text | None, Query(max_length=100, description="only targets on this device")] = None,
    offset: Annotated[int, Query(ge=0, le=10**7, description="functions to leave out at the beginning")] = 0,
    limit: Annotated[int, Query(ge=1, le=5000, description="functions")] = 500,
) -> MatrixPage:
    """The functions that a query finds, with their cells, and all modules that these are of."""
    return await service.page(context.engine, campaign_id, MatrixQuery(q, verdict, device, offset, limit))


@router.get("/history/{framework}/{function:path}")
async def history(framework: PathName, function: PathName, context: Context) -> History:
    """One function on every target of every campaign, newest campaign first."""
    return await service.history(context.engine, framework, function)
