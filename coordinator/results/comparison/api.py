"""Comparison over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from coordinator.http.context import Context
from coordinator.http.routers import RestRouter
from coordinator.http.storable import Text
from coordinator.results.api import FunctionRuleParameter
from coordinator.results.comparison import service
from coordinator.results.comparison.models import Comparison
from coordinator.results.comparison.pairs import SideSelector
from protocol.problems import problem_responses

router = RestRouter(tags=["comparison"])

SideText = Annotated[
    Text, Query(max_length=300, description="a campaign's number; or one of its targets, such as `3:torch/xla`")
]


@router.get("/compare", responses=problem_responses(404))
async def compare(
    a: SideText,
    b: SideText,
    context: Context,
    rule: FunctionRuleParameter,
) -> Comparison:
    """Regressions, fixes and changed latency from `a` to `b`, function by function. Unchanged functions are only
    counted."""
    return await service.compare(context.engine, SideSelector.parse(a, "a"), SideSelector.parse(b, "b"), rule)
