"""A campaign's figures and tables, beside the study; and the study's own page."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from coordinator.campaigns import service as campaigns
from coordinator.context import ChartRenderer, Context, Shared
from coordinator.errors import NotFoundError
from coordinator.parameters import CampaignId, PathName
from coordinator.reference.models import PAPER, REFERENCE_OF
from coordinator.reports import service
from coordinator.reports.api import NO_REFERENCE, OptionsParameter, Theme, described
from coordinator.reports.chapters import CHAPTERS
from coordinator.reports.charts.figure import Figure
from coordinator.reports.charts.theme import dark, of_both
from coordinator.reports.latencies import INTOLERABLE
from coordinator.reports.service import ReportContents, ReportOptions
from coordinator.reports.table_renderer import to_csv, to_json
from coordinator.results.report_data import MEASURES
from coordinator.web.pages import SECURITY, page, streamed

router = APIRouter()

ROWS = 60
"""Of a table on the page; its csv has all."""
UNCHANGING = {"Cache-Control": "public, max-age=31536000, immutable"}
Drawn = Annotated[str | None, Query(pattern="^[0-9a-f]{32}$", description="the drawing that a page has made")]
Form = Annotated[Literal["svg", "json"], Path()]


@router.get("/campaigns/{campaign_id}/figures")
async def figures(request: Request, campaign_id: CampaignId, context: Context, options: OptionsParameter) -> Response:
    """The head of the page goes out before anything is computed."""
    campaign = await campaigns.detail(context.engine, campaign_id)
    if request.query_params.get("as") == "json":
        return page(request, "figures.html", as_data(await service.contents(context.engine, campaign_id, options)))
    await service.check(context.engine, campaign_id, options)

    async def chapters() -> list[dict[str, Any]]:
        chart = await service.contents(context.engine, campaign_id, options)
        return shown(chart, context.renderer)

    return streamed(
        request,
        "figures.html",
        campaign,
        chapters=chapters,
        asked=options,
        reference=REFERENCE_OF.get(campaign.suite),
        measures=MEASURES,
        devices=sorted({each.device for each in campaign.by_target}),
        query=query_of(options),
        rows=ROWS,
        pictures=f"/campaigns/{campaign_id}/figures",
        tables=f"/api/v1/campaigns/{campaign_id}/tables",
    )


@router.get("/campaigns/{campaign_id}/figures/{figure}.{form}")
async def picture(
    campaign_id: CampaignId,
    figure: PathName,
    form: Form,
    context: Context,
    options: OptionsParameter,
    drawn: Drawn = None,
    theme: Theme = "auto",
) -> Response:
    """A figure for a page, which says its title itself: a picture, or its specification."""
    spec = context.renderer.recall(drawn)
    if spec is None:
        chart = await service.contents(context.engine, campaign_id, options)
        spec = _to_draw(chart.figure(figure))
    return await _answer(context, spec, form, theme, unchanging=drawn is not None)


@router.get("/reference")
async def reference(request: Request, context: Context) -> Response:
    """What the study published, and what is wrong in it."""
    if request.query_params.get("as") == "json":
        return page(request, "reference.html", as_data(await service.study(context.engine, PAPER)))

    async def contents() -> ReportContents:
        return await service.study(context.engine, PAPER)

    def chapters(chart: ReportContents) -> list[dict[str, Any]]:
        return shown(chart, context.renderer, silent=False)

    return streamed(
        request,
        "reference.html",
        None,
        chart=contents,
        chapters=chapters,
        query="",
        rows=1000,
        pictures="/reference/figures",
        tables="/reference/tables",
    )


@router.get("/reference/figures/{figure}.{form}")
async def reference_picture(
    figure: PathName, form: Form, context: Context, drawn: Drawn = None, theme: Theme = "auto"
) -> Response:
    spec = context.renderer.recall(drawn) or _to_draw((await service.study(context.engine, PAPER)).figure(figure))
    return await _answer(context, spec, form, theme, unchanging=drawn is not None)


@router.get("/reference/tables/{table}")
async def reference_table(table: PathName, context: Context, format: Literal["json", "csv"] = "json") -> Response:
    found = (await service.study(context.engine, PAPER)).table(table)
    if format == "csv":
        return Response(to_csv(found), headers=SECURITY, media_type="text/csv; charset=utf-8")
    return JSONResponse(to_json(found), headers=SECURITY)


@router.get("/figures/vega.js")
async def scripts(context: Context) -> Response:
    """What makes figures interactive."""
    path = await context.renderer.scripts()
    return FileResponse(path, headers=SECURITY | {"Cache-Control": "max-age=86400"}, media_type="text/javascript")


def shown(chart: ReportContents, renderer: ChartRenderer, *, silent: bool = True) -> list[dict[str, Any]]:
    """Chapter by chapter what the page shows: figures with the key of their drawing, and tables.

    Without ``silent``, figures that cannot be drawn are left out.
    """
    chapters = []
    for each in CHAPTERS:
        chapter = each.filled(chart.tables, chart.figures)
        drawn = [
            {"figure": figure, "drawn": None if figure.bare is None else renderer.remember(figure.bare)}
            for figure in chapter.figures
            if silent or figure.bare is not None
        ]
        tables = [table for table in chapter.tables if silent or table.rows]
        if drawn or tables:
            chapters.append({"chapter": chapter, "figures": drawn, "tables": tables})
    return chapters


def as_data(chart: ReportContents) -> dict[str, Any]:
    """What the page shows, for programs."""
    return {
        "figures": [described(each) for each in chart.figures],
        "tables": [to_json(each) for each in chart.tables],
    }


def query_of(asked: ReportOptions) -> str:
    """The same question as a query string; what is usual is left out."""
    said = {
        "reference": asked.reference if asked.reference is not None else NO_REFERENCE,
        "reference_device": asked.base,
        "tolerable": None if asked.factor == INTOLERABLE else f"{asked.factor:g}",
        "measure": asked.measure,
    }
    return urlencode({name: value for name, value in said.items() if value not in (None, "")})


def _to_draw(figure: Figure) -> dict[str, Any]:
    if figure.bare is None:
        raise NotFoundError(f"the figure {figure.id!r} cannot be drawn: {figure.silent}")
    return figure.bare


async def _answer(
    context: Shared, spec: dict[str, Any], form: Literal["svg", "json"], theme: Theme, *, unchanging: bool
) -> Response:
    headers = SECURITY | (UNCHANGING if unchanging else {})
    spec = dark(spec) if theme == "dark" else spec
    if form == "json":
        return JSONResponse(spec, headers=headers)
    (svg,) = await context.renderer.draw([spec], "svg")
    text = of_both(svg.decode()) if theme == "auto" else svg.decode()
    return Response(text, headers=headers, media_type="image/svg+xml")
