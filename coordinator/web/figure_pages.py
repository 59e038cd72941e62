"""The pages of a campaign's figures, tables and report, compared with the study, and the page of the study itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from coordinator.access.caller import ROOM_FOR_DOWNLOAD, CurrentCaller
from coordinator.access.headers import POLICY, REPORT
from coordinator.campaigns import service as campaigns
from coordinator.http.context import Context, HandlerContext
from coordinator.http.parameters import CampaignId, PathName
from coordinator.http.routers import PageRouter
from coordinator.reference.models import PAPER, REFERENCE_OF
from coordinator.reports import service
from coordinator.reports.api import (
    Options,
    TableForm,
    Theme,
    contents_for,
    describe,
    picture_response,
    report_file,
    table_response,
)
from coordinator.reports.contents import ReportContents
from coordinator.reports.report import TEMPLATE, CampaignReport, frame
from coordinator.reports.table_renderer import to_json
from coordinator.results.report_data import MEASURES
from coordinator.web.pages import page, stream_page

router = PageRouter()

ROWS = 60
"""The maximum number of rows of a table on the page. Its csv has all."""
UNCHANGING = {"Cache-Control": "private, max-age=31536000, immutable"}
DrawingId = Annotated[
    str | None, Query(pattern="^[0-9a-f]{32}$", description="the id of a drawing that is already on a page")
]
Form = Annotated[Literal["svg", "json"], Path()]


@router.get("/campaigns/{campaign_id}/figures")
async def figures(
    request: Request, campaign_id: CampaignId, context: Context, caller: CurrentCaller, options: Options
) -> Response:
    """The page of figures. Its beginning is sent before anything is computed."""
    campaign = await campaigns.detail(context.engine, campaign_id)
    contents = partial(contents_for, context, caller, campaign_id, options)
    if request.query_params.get("as") == "json":
        return page(request, "figures.html", contents_data(await contents()))
    await service.check(context.engine, campaign_id, options)
    return stream_page(
        request,
        "figures.html",
        campaign,
        contents=contents,
        remember=context.renderer.remember,
        options=options,
        reference=REFERENCE_OF.get(campaign.suite),
        measures=MEASURES,
        rows=ROWS,
    )


@router.get("/campaigns/{campaign_id}/figures/{figure}.{form}")
async def picture(
    campaign_id: CampaignId,
    figure: PathName,
    form: Form,
    context: Context,
    caller: CurrentCaller,
    options: Options,
    drawn: DrawingId = None,
    theme: Theme = "auto",
) -> Response:
    """A figure for a page that shows the title itself, as a picture or as its specification."""
    contents = partial(contents_for, context, caller, campaign_id, options)
    return await _picture(context, contents, figure, form, drawn, theme)


@router.get("/campaigns/{campaign_id}/report", dependencies=[ROOM_FOR_DOWNLOAD])
async def report(
    request: Request,
    campaign_id: CampaignId,
    context: Context,
    caller: CurrentCaller,
    options: Options,
    download: bool = False,
) -> Response:
    """The report. The page is the same file that a reader can download and send to a colleague."""
    campaign = await campaigns.detail(context.engine, campaign_id)
    await service.check(context.engine, campaign_id, options)

    async def make_report() -> CampaignReport:
        async with context.exports.hold(caller.name):
            return await service.report(context.engine, context.renderer, campaign_id, options)

    if request.query_params.get("as") == "json":
        return JSONResponse(report_data(await make_report()))
    if download:
        return await report_file(await make_report())
    return stream_page(
        request, TEMPLATE, campaign, headers={POLICY: REPORT}, make_report=make_report, **frame(campaign)
    )


@router.get("/reference")
async def reference(request: Request, context: Context) -> Response:
    """The study's published results, including their errors."""
    if request.query_params.get("as") == "json":
        return page(request, "reference.html", contents_data(await service.study(context.engine, PAPER)))

    async def contents() -> ReportContents:
        """The tables and figures of the study. Figures for which its data are not enough are not included."""
        study = await service.study(context.engine, PAPER)
        figures = tuple(figure for figure in study.figures if figure.bare is not None)
        return replace(study, figures=figures, tables=tuple(table for table in study.tables if table.rows))

    return stream_page(
        request, "reference.html", None, contents=contents, remember=context.renderer.remember, rows=1000
    )


@router.get("/reference/figures/{figure}.{form}")
async def reference_picture(
    figure: PathName, form: Form, context: Context, drawn: DrawingId = None, theme: Theme = "auto"
) -> Response:
    return await _picture(context, lambda: service.study(context.engine, PAPER), figure, form, drawn, theme)


@router.get("/reference/tables/{table}")
async def reference_table(table: PathName, context: Context, format: TableForm = "json") -> Response:
    return table_response((await service.study(context.engine, PAPER)).table(table), format)


@router.get("/figures/vega.js")
async def scripts(context: Context) -> Response:
    """The scripts that make figures interactive."""
    path = await context.renderer.scripts()
    return FileResponse(path, headers={"Cache-Control": "max-age=86400"}, media_type="text/javascript")


def report_data(report: CampaignReport) -> dict[str, object]:
    return {
        "campaign": report.campaign.model_dump(mode="json"),
        "summary": [section.model_dump() for section in report.summary],
        **contents_data(report.contents),
        "failures": [asdict(failure) for failure in report.commands],
        "fingerprints": [asdict(machine) for machine in report.machines],
        "caveats": report.caveats,
    }


def contents_data(contents: ReportContents) -> dict[str, Any]:
    """The figures and tables of the page as data for programs."""
    return {
        "figures": [describe(figure) for figure in contents.figures],
        "tables": [to_json(table) for table in contents.tables],
    }


async def _picture(
    context: HandlerContext,
    contents: Callable[[], Awaitable[ReportContents]],
    figure: str,
    form: Literal["svg", "json"],
    drawing_key: str | None,
    theme: Theme,
) -> Response:
    """The figure that a page has drawn. If it is no longer stored, it is computed again."""
    spec = context.renderer.recall(drawing_key) or (await contents()).figure(figure).drawing(with_title=False)
    return await picture_response(context.renderer, spec, form, theme, {} if drawing_key is None else UNCHANGING)
