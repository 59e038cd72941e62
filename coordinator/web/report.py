"""The report of a campaign as a page, and as the file to send."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from coordinator.campaigns import service as campaigns
from coordinator.context import Context
from coordinator.parameters import CampaignId
from coordinator.reports import service
from coordinator.reports.api import OptionsParameter, described
from coordinator.reports.report import TEMPLATE, Report, frame, html
from coordinator.reports.table_renderer import to_json
from coordinator.web.pages import SECURITY, streamed

router = APIRouter()


@router.get("/campaigns/{campaign_id}/report")
async def report(
    request: Request, campaign_id: CampaignId, context: Context, options: OptionsParameter, download: bool = False
) -> Response:
    """The file itself: what one sees is what a colleague gets."""
    campaign = await campaigns.detail(context.engine, campaign_id)
    await service.check(context.engine, campaign_id, options)

    async def made() -> Report:
        return await service.report(context.engine, context.renderer, campaign_id, options)

    if request.query_params.get("as") == "json":
        return JSONResponse(as_data(await made()), headers=SECURITY)
    if download:
        name = f'attachment; filename="portolan-campaign-{campaign_id}.html"'
        return HTMLResponse(html(await made()), headers=SECURITY | {"Content-Disposition": name})
    return streamed(request, TEMPLATE, campaign, made=made, **frame(campaign))


def as_data(report: Report) -> dict[str, object]:
    return {
        "campaign": report.campaign.model_dump(mode="json"),
        "summary": [section.model_dump() for section in report.summary],
        "figures": [described(each) for each in report.figures],
        "tables": [to_json(each) for each in report.tables],
        "failures": [asdict(each) for each in report.commands],
        "fingerprints": [asdict(each) for each in report.machines],
        "caveats": report.caveats,
    }
