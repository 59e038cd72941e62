"""Tables, figures and the report of a campaign over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Response
from fastapi.responses import HTMLResponse, JSONResponse

from coordinator.access.caller import ROOM_FOR_DOWNLOAD, Caller, CurrentCaller
from coordinator.access.headers import PICTURE, POLICY, REPORT
from coordinator.http.context import ChartRenderer, Context, HandlerContext
from coordinator.http.parameters import CampaignId, PathName
from coordinator.http.routers import RestRouter
from coordinator.http.storable import Text
from coordinator.reports import service
from coordinator.reports.charts.figure import Figure, Spec
from coordinator.reports.charts.theme import dark, of_both
from coordinator.reports.contents import ReportContents
from coordinator.reports.options import ReportOptions
from coordinator.reports.report import CampaignReport, html
from coordinator.reports.table import Table
from coordinator.reports.table_renderer import to_csv, to_json
from coordinator.results.summary import Summary
from protocol.problems import problem_responses

router = RestRouter(prefix="/campaigns/{campaign_id}", tags=["reports"], responses=problem_responses(404))

Form = Literal["svg", "png", "json"]
Theme = Literal["light", "dark", "auto"]
TableForm = Literal["json", "csv"]
Options = Annotated[ReportOptions, Depends()]


@router.get("/tables")
async def tables(campaign_id: CampaignId, context: Context, caller: CurrentCaller, options: Options) -> dict[str, Any]:
    """The available tables, each with its number of rows."""
    contents = await contents_for(context, caller, campaign_id, options, with_figures=False)
    return {
        "tables": [
            {"id": table.id, "title": table.title, "rows": len(table.rows), "remade_from": table.remade_from}
            for table in contents.tables
        ]
    }


@router.get("/tables/{table}", responses={200: {"content": {"text/csv": {}}}})
async def table(
    campaign_id: CampaignId,
    table: PathName,
    context: Context,
    caller: CurrentCaller,
    options: Options,
    format: TableForm = "json",
) -> Response:
    """One table with its notes, its counting rule and the SQL query of its rows. The csv has only the rows."""
    selected_table = (await contents_for(context, caller, campaign_id, options, with_figures=False)).table(table)
    headers = _attachment(f"campaign-{campaign_id}-{selected_table.id}.csv") if format == "csv" else {}
    return await asyncio.to_thread(table_response, selected_table, format, headers)


@router.get("/summary")
async def summary(
    campaign_id: CampaignId,
    context: Context,
    caller: CurrentCaller,
    options: Options,
    function: Annotated[Text | None, Query(max_length=200, description="a glob, such as `torch.nn.*`")] = None,
    device: Annotated[Text | None, Query(max_length=100, description="only targets on this device")] = None,
) -> Summary:
    """The campaign in sentences, as in its report: the whole campaign, then each target."""
    async with context.exports.hold(caller.name):
        return await service.summary_of(context.engine, campaign_id, options, function=function, device=device)


@router.get("/figures")
async def figures(campaign_id: CampaignId, context: Context, caller: CurrentCaller, options: Options) -> dict[str, Any]:
    """The available figures. If `drawn` is false, the figure has too few points, and `silent` gives the reason."""
    contents = await contents_for(context, caller, campaign_id, options)
    return {"figures": [describe(figure) for figure in contents.figures]}


@router.get("/figures/{figure}", responses={200: {"content": {"image/svg+xml": {}, "image/png": {}}}})
async def figure(
    campaign_id: CampaignId,
    figure: PathName,
    context: Context,
    caller: CurrentCaller,
    options: Options,
    format: Annotated[Form, Query(description="json is the Vega-Lite specification, data and all")] = "svg",
    theme: Annotated[Theme, Query(description="`auto` is a light svg that turns dark on a dark page")] = ("light"),
) -> Response:
    """One figure. Returns 404 with the reason if the figure has too few points."""
    selected_figure = (await contents_for(context, caller, campaign_id, options)).figure(figure)
    return await picture_response(context.renderer, selected_figure.drawing(with_title=True), format, theme)


@router.get("/report", response_class=HTMLResponse, dependencies=[ROOM_FOR_DOWNLOAD])
async def report(campaign_id: CampaignId, context: Context, caller: CurrentCaller, options: Options) -> HTMLResponse:
    """One self-contained HTML file with all tables and figures, without scripts or external references."""
    async with context.exports.hold(caller.name):
        full_report = await service.report(context.engine, context.renderer, campaign_id, options)
        return await report_file(full_report)


async def contents_for(
    context: HandlerContext, caller: Caller, campaign_id: int, options: ReportOptions, *, with_figures: bool = True
) -> ReportContents:
    """The tables and figures of a campaign, computed in one of the caller's slots."""
    async with context.exports.hold(caller.name):
        return await service.contents(context.engine, campaign_id, options, with_figures=with_figures)


def describe(figure: Figure) -> dict[str, Any]:
    """A figure's description without its drawing."""
    return {
        "id": figure.id,
        "title": figure.title,
        "subtitle": figure.subtitle,
        "alternative": figure.alternative,
        "table": figure.table.id,
        "remade_from": figure.table.remade_from,
        "notes": figure.table.notes,
        "drawn": figure.bare is not None,
        "silent": figure.silent or None,
    }


def table_response(table: Table, form: TableForm, headers: dict[str, str] | None = None) -> Response:
    if form == "csv":
        return Response(to_csv(table), headers=headers, media_type="text/csv")
    return JSONResponse(to_json(table), headers=headers)


async def picture_response(
    renderer: ChartRenderer, spec: Spec, form: Form, theme: Theme, headers: dict[str, str] | None = None
) -> Response:
    """The figure in a theme, as a picture or as its specification. Only an svg can switch to dark colors by itself."""
    spec = dark(spec) if theme == "dark" else spec
    if form == "json":
        return JSONResponse(spec, headers=headers)
    (picture,) = await renderer.draw([spec], form)
    if form == "png":
        return Response(picture, headers=headers, media_type="image/png")
    svg = of_both(picture.decode()) if theme == "auto" else picture
    return Response(svg, headers={**(headers or {}), POLICY: PICTURE}, media_type="image/svg+xml")


async def report_file(report: CampaignReport) -> HTMLResponse:
    """The report as a file. It is rendered in a thread, because the report of a large campaign has megabytes."""
    name = f"portolan-campaign-{report.campaign.id}.html"
    text = await asyncio.to_thread(html, report)
    return HTMLResponse(text, headers={POLICY: REPORT, **_attachment(name)})


def _attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
