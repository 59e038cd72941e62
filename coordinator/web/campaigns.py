"""The list of campaigns."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from coordinator.campaigns import service
from coordinator.context import Context
from coordinator.web.pages import page

router = APIRouter()


@router.get("/campaigns")
async def listed(
    request: Request, context: Context, before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> Response:
    found = await service.listed(context.engine, before=before, limit=50)
    rows = [each.model_dump(mode="json", exclude={"targets", "functions"}) for each in found.campaigns]
    return page(request, "campaigns.html", found, rows=rows)
