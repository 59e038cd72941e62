"""The matrix, its summary and a function's history over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Depends, Query, Request, Response

from coordinator.catalogue.models import CampaignCoverage
from coordinator.errors import RequestError
from coordinator.figures.counting import ANYWHERE, NAMES, RULES, CountingRule, rule_named
from coordinator.http.context import Context
from coordinator.http.parameters import CampaignId, PathName
from coordinator.http.routers import RestRouter
from coordinator.http.storable import Text
from coordinator.results import condition_rows, operations, samples, service
from coordinator.results import coverage as coverages
from coordinator.results.condition_rows import CampaignConditions
from coordinator.results.models import CampaignSample, History, MatrixPage
from coordinator.results.operations import CampaignOperations, OperationCases
from coordinator.results.service import MatrixQuery
from protocol.problems import problem_responses

router = RestRouter(tags=["matrix"], responses=problem_responses(404))

FORMER_PARAMETERS = ("by", "counted_by", "verdict_on_device")


async def refuse_former_parameters(request: Request) -> None:
    """Reject the parameters of earlier releases. If they were ignored, the response could have a verdict by another
    rule than the caller expects."""
    _refuse(request, FORMER_PARAMETERS)


def _refuse(request: Request, names: Sequence[str]) -> None:
    for name in names:
        if name in request.query_params:
            raise RequestError(
                f"there is no parameter '{name}': use 'rule' to choose how cases are counted ({', '.join(NAMES)})"
            )


async def _rule(
    rule: Annotated[
        Text,
        Query(
            max_length=100,
            json_schema_extra={"enum": [*NAMES]},
            description="; ".join(f"`{rule.name}`: {rule.sentence}" for rule in RULES),
        ),
    ] = ANYWHERE.name,
) -> CountingRule:
    return rule_named(rule)


OnlyDevice = Annotated[Text | None, Query(max_length=100, description="only targets on this device")]
Offset = Annotated[int, Query(ge=0, le=10**7, description="number of functions to skip at the beginning")]
Limit = Annotated[int, Query(ge=1, le=5000, description="maximum number of functions; csv has all")]
RuleParameter = Annotated[CountingRule, Depends(_rule)]


async def _rule_of_functions(request: Request, rule: RuleParameter) -> CountingRule:
    _refuse(request, (*FORMER_PARAMETERS, "verdict"))
    return rule


FunctionRuleParameter = Annotated[CountingRule, Depends(_rule_of_functions)]
"""The rule parameter of endpoints that count functions."""


@router.get("/campaigns/{campaign_id}/matrix")
async def matrix(
    campaign_id: CampaignId,
    context: Context,
    rule: FunctionRuleParameter,
    q: Annotated[Text, Query(max_length=1000, description="such as `torch.* fails:xla passes:cpu cause:type`")] = "",
    device: OnlyDevice = None,
    offset: Offset = 0,
    limit: Limit = 500,
) -> MatrixPage:
    """A page of the functions that match a query, with their cells, and the modules of all matching functions."""
    return await service.page(context.engine, campaign_id, MatrixQuery(q, rule, device, offset, limit))


@router.get("/campaigns/{campaign_id}/coverage")
async def coverage(campaign_id: CampaignId, context: Context) -> CampaignCoverage:
    """The share of each framework's public functions that the campaign has charted, unweighted and weighted by use."""
    return await coverages.of_campaign(context.engine, campaign_id)


@router.get(
    "/campaigns/{campaign_id}/conditions",
    response_model=CampaignConditions,
    responses={200: {"content": {"text/csv": {}}}},
)
async def conditions(
    campaign_id: CampaignId,
    context: Context,
    function: Annotated[Text, Query(max_length=200, description="a glob, such as `torch.nn.*`")] = "*",
    device: OnlyDevice = None,
    offset: Offset = 0,
    limit: Limit = 500,
    format: Literal["json", "csv"] = "json",
) -> Response | CampaignConditions:
    """The conditions of each function with a case that fails or falls back: how many cases fail or fall back, with
    which options, and which reference judged the cases.
    """
    if format == "json":
        return await condition_rows.of_campaign(context.engine, campaign_id, function, device, offset, limit)
    whole = await condition_rows.of_campaign(context.engine, campaign_id, function, device)
    headers = {"content-disposition": f'attachment; filename="campaign-{campaign_id}-conditions.csv"'}
    return Response(condition_rows.as_csv(whole), media_type="text/csv", headers=headers)


@router.get("/campaigns/{campaign_id}/operations")
async def campaign_operations(
    campaign_id: CampaignId,
    context: Context,
    name: Annotated[Text, Query(max_length=200, description="text that the name of the operation contains")] = "",
) -> CampaignOperations:
    """The framework's own operations that fell back, failed, gave a wrong result or lack a lowering. The operation with
    the most cases comes first."""
    return await operations.of_campaign(context.engine, campaign_id, name)


@router.get("/campaigns/{campaign_id}/operations/{operation:path}")
async def operation_cases(campaign_id: CampaignId, operation: PathName, context: Context) -> OperationCases:
    """The functions and cases in which one operation (`aten::isin`) fell back or failed, on each target."""
    return await operations.cases_of(context.engine, campaign_id, operation)


@router.get("/campaigns/{campaign_id}/sample")
async def sample(campaign_id: CampaignId, context: Context) -> CampaignSample:
    """The random sample that the campaign's functions form: how it was drawn, and how many of its functions port.
    Returns 404 if the functions are not a sample.
    """
    return await samples.of_campaign(context.engine, campaign_id)


@router.get("/history/{framework}/{function:path}")
async def history(framework: PathName, function: PathName, context: Context) -> History:
    """One function on every target of every campaign, newest campaign first."""
    return await service.history(context.engine, framework, function)
