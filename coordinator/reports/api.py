"""Tables, figures and the report of a campaign over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import HTMLResponse, JSONResponse

from coordinator.context import Context
from coordinator.errors import NotFoundError
from coordinator.parameters import CampaignId, PathName, Text
from coordinator.reports import service
from coordinator.reports.charts.figure import Figure, Spec
from coordinator.reports.charts.theme import dark, of_both
from coordinator.reports.latencies import INTOLERABLE
from coordinator.reports.report import html
from coordinator.reports.service import SUITES_OWN, ReportOptions
from coordinator.reports.table_renderer import to_csv, to_json
from coordinator.results.report_data import MEASURES, Measure
from coordinator.results.summary import Summary
from protocol.problems import problem_responses

router = APIRouter(prefix="/campaigns/{campaign_id}", tags=["reports"], responses=problem_responses(404))

NO_REFERENCE = "none"
Form = Literal["svg", "png", "json"]
Theme = Literal["light", "dark", "auto"]


def report_options(
    reference: Annotated[
        Text,
        Query(
            max_length=100,
            description="what to set the campaign beside: unless it is given, the reference of its suite, if that has "
            "one; `none` for nothing",
        ),
    ] = SUITES_OWN,
    reference_device: Annotated[
        Text | None, Query(max_length=100, description="that others are set against; else a GPU, else the CPU")
    ] = None,
    tolerable: Annotated[
        float,
        Query(
            json_schema_extra={"exclusiveMinimum": 1},
            description="how many times slower a function may be before it is intolerable",
        ),
    ] = INTOLERABLE,
    measure: Annotated[
        str | None,
        Query(
            max_length=20,
            json_schema_extra={"enum": [*MEASURES, "", None]},
            description="steady, cold or paper; unless it is said, as the campaign was timed",
        ),
    ] = None,
) -> ReportOptions:
    # A form sends its empty fields too.
    which = cast(Measure | None, measure or None)
    return ReportOptions(None if reference == NO_REFERENCE else reference, reference_device or None, tolerable, which)


OptionsParameter = Annotated[ReportOptions, Depends(report_options)]


@router.get("/tables")
async def tables(campaign_id: CampaignId, context: Context, options: OptionsParameter) -> dict[str, Any]:
    """Which tables there are, and how many rows each has."""
    chart = await service.contents(context.engine, campaign_id, options)
    return {
        "tables": [
            {"id": each.id, "title": each.title, "rows": len(each.rows), "remade_from": each.remade_from}
            for each in chart.tables
        ]
    }


@router.get("/tables/{table}", responses={200: {"content": {"text/csv": {}}}})
async def table(
    campaign_id: CampaignId,
    table: PathName,
    context: Context,
    options: OptionsParameter,
    format: Literal["json", "csv"] = "json",
) -> Response:
    """One table, with its notes, its counting rule and the query behind it; csv holds the rows alone."""
    found = (await service.contents(context.engine, campaign_id, options)).table(table)
    if format == "csv":
        name = f"campaign-{campaign_id}-{found.id}.csv"
        return Response(
            to_csv(found), media_type="text/csv", headers={"Content-Disposition": f'attachment; filename="{name}"'}
        )
    return JSONResponse(to_json(found))


@router.get("/summary")
async def summary(
    campaign_id: CampaignId,
    context: Context,
    options: OptionsParameter,
    function: Annotated[Text | None, Query(max_length=200, description="a glob, such as `torch.nn.*`")] = None,
    device: Annotated[Text | None, Query(max_length=100, description="only targets on this device")] = None,
) -> Summary:
    """The campaign in sentences, as its report has them: the whole, then each target."""
    return await service.summary_of(context.engine, campaign_id, options, function=function, device=device)


@router.get("/figures")
async def figures(campaign_id: CampaignId, context: Context, options: OptionsParameter) -> dict[str, Any]:
    """Which figures there are; `drawn` is false of one that has too few points, and `silent` says why."""
    chart = await service.contents(context.engine, campaign_id, options)
    return {"figures": [described(each) for each in chart.figures]}


@router.get("/figures/{figure}", responses={200: {"content": {"image/svg+xml": {}, "image/png": {}}}})
async def figure(
    campaign_id: CampaignId,
    figure: PathName,
    context: Context,
    options: OptionsParameter,
    format: Annotated[Form, Query(description="json is the Vega-Lite specification, data and all")] = "svg",
    theme: Annotated[Theme, Query(description="auto is a light svg that turns dark where its reader's page does")] = (
        "light"
    ),
) -> Response:
    """One figure. One that has too few points is 404, and says so."""
    found = (await service.contents(context.engine, campaign_id, options)).figure(figure)
    spec = specification(found, theme)
    if format == "json":
        return JSONResponse(spec)
    (picture,) = await context.renderer.draw([spec], format)
    if format == "png":
        return Response(picture, media_type="image/png")
    return Response(of_both(picture.decode()) if theme == "auto" else picture, media_type="image/svg+xml")


@router.get("/report", response_class=HTMLResponse)
async def report(campaign_id: CampaignId, context: Context, options: OptionsParameter) -> HTMLResponse:
    """One self-contained HTML file with everything: no script, no reference to anything outside."""
    made = await service.report(context.engine, context.renderer, campaign_id, options)
    name = f"portolan-campaign-{campaign_id}.html"
    return HTMLResponse(html(made), headers={"Content-Disposition": f'attachment; filename="{name}"'})


def described(figure: Figure) -> dict[str, Any]:
    """A figure without its drawing."""
    return {
        "id": figure.id,
        "title": figure.title,
        "subtitle": figure.subtitle,
        "alternative": figure.alternative,
        "table": figure.table.id,
        "remade_from": figure.table.remade_from,
        "notes": figure.table.notes,
        "drawn": figure.spec is not None,
        "silent": figure.silent or None,
    }


def specification(figure: Figure, theme: Theme) -> Spec:
    """Raises ``NotFoundError`` where there is nothing to draw."""
    if figure.spec is None:
        raise NotFoundError(f"the figure {figure.id!r} cannot be drawn: {figure.silent}")
    spec: Spec = dark(figure.spec) if theme == "dark" else figure.spec
    return spec
