"""Evidence over HTTP: what all campaigns found, for `portolan assess` and for files of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query, Response

from coordinator.assess import evidence_file, service
from coordinator.context import Context
from coordinator.routers import RestRouter
from coordinator.storable import Text
from coordinator.targets.selectors import Selector

router = RestRouter(tags=["assessment"])


@router.get(
    "/evidence",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
)
async def evidence(
    context: Context,
    target: Annotated[Text, Query(max_length=100, description="a selector, such as `torch/xla` or `*/*`")] = "*/*",
) -> Response:
    """Of each case the newest outcome on each target but the CPU, whatever campaign it came from."""
    targets = await service.evidence(context.engine, Selector.parse(target))
    return Response(evidence_file.written(targets, datetime.now(UTC)), media_type="application/json")
