"""The page of operations that fell back, failed or lack a lowering in a campaign, and of the cases that use one of
them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from coordinator.http.context import Context
from coordinator.http.parameters import CampaignId
from coordinator.http.routers import PageRouter
from coordinator.http.storable import Text
from coordinator.results import operations as found_operations
from coordinator.results.involvement import Met
from coordinator.web.pages import page

router = PageRouter()


@router.get("/campaigns/{campaign_id}/operations")
async def operations(
    request: Request,
    campaign_id: CampaignId,
    context: Context,
    operation: Annotated[Text, Query(max_length=500)] = "",
    name: Annotated[Text, Query(max_length=200)] = "",
) -> Response:
    """All operations, or the cases that use ``operation``."""
    if operation:
        cases = await found_operations.cases_of(context.engine, campaign_id, operation)
        return page(request, "operation.html", cases, rows=[case.model_dump(mode="json") for case in cases.cases])
    campaign_operations = await found_operations.of_campaign(context.engine, campaign_id, name)
    rows = [row.model_dump(mode="json") for row in campaign_operations.operations]
    ways = [met for met in Met if any(row[met] for row in rows)]
    return page(request, "operations.html", campaign_operations, rows=rows, name=name, ways=ways)
