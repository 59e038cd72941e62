"""The report of a campaign as a page, and as the file to send."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from coordinator.campaigns import service as campaigns
from coordinator.context import Context
from coordinator.parameters import CampaignId
from coordinator.reports import service
from coordinator.reports.api import Options, report_file
from coordinator.reports.report import TEMPLATE, Report, frame
from coordinator.web.figure_pages import as_data
from coordinator.web.pages import SECURITY, streamed

router = APIRouter()


@router.get("/campaigns/{campaign_id}/report")
async def report(
    request: Request, campaign_id: CampaignId, context: Context, options: Options, download: bool = False
) -> Response:
    """The page is the file itself: one sees what a colleague gets."""
    campaign = await campaigns.detail(context.engine, campaign_id)
    await service.check(context.engine, campaign_id, options)

    async def made() -> Report:
        return await service.report(context.engine, context.renderer, campaign_id, options)

    if request.query_params.get("as") == "json":
        return JSONResponse(report_data(await made()), headers=SECURITY)
    if download:
        return report_file(await made(), SECURITY)
    return streamed(request, TEMPLATE, campaign, made=made, **frame(campaign))


def report_data(report: Report) -> dict[str, object]:
    return {
        "campaign": report.campaign.model_dump(mode="json"),
        "summary": [section.model_dump() for section in report.summary],
        **as_data(report.contents),
        "failures": [asdict(failure) for failure in report.commands],
        "fingerprints": [asdict(machine) for machine in report.machines],
        "caveats": report.caveats,
    }
