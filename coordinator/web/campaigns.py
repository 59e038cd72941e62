"""Campaigns: the list, the page of one with its progress, and cancelling it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response, status
from fastapi.responses import RedirectResponse
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service
from coordinator.campaigns.models import CampaignDetail, CampaignTarget, Counters, RecentFailure, VerdictCount
from coordinator.context import Context
from coordinator.formats import duration, number
from coordinator.parameters import CampaignId, CampaignNumber
from coordinator.results import service as matrix
from coordinator.results.models import Freshness
from coordinator.web.pages import page, same_site

router = APIRouter()

FAILURES = 10
"""Of what failed lately, on the page."""
WORDS = ("success", "partial", "complete", "unknown")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is, and at what rate it came there."""

    percent: float
    per_second: float | None
    seconds_left: float | None
    said: str


@dataclass(frozen=True, slots=True)
class CauseCount:
    """One cause, and of how many functions on a target it is the main one, by either verdict."""

    cause: str
    functions: int
    functions_on_device: int
    address: str
    """Of the matrix that shows them."""
    address_on_device: str


@dataclass(frozen=True, slots=True)
class TargetLine:
    """One target, with its functions by both verdicts."""

    target: CampaignTarget
    progress: Progress
    verdict: dict[str, int]
    verdict_on_device: dict[str, int]
    waits: bool
    """It has jobs left that no runner serves."""


@dataclass(frozen=True, slots=True)
class Overview:
    """All that a campaign's page shows."""

    campaign: CampaignDetail
    freshness: Freshness | None
    """From how many outcomes its functions are counted; None while it runs."""
    progress: Progress
    targets: tuple[TargetLine, ...]
    causes: tuple[CauseCount, ...]
    failed_lately: tuple[RecentFailure, ...]


@router.get("/campaigns")
async def listed(request: Request, context: Context, before: CampaignNumber = None) -> Response:
    found = await service.listed(context.engine, before=before, limit=50)
    rows = [each.model_dump(mode="json", exclude={"targets", "functions"}) for each in found.campaigns]
    return page(request, "campaigns.html", found, rows=rows)


@router.get("/campaigns/{campaign_id}")
async def shown(request: Request, campaign_id: CampaignId, context: Context) -> Response:
    data = await overview(context.engine, campaign_id)
    return page(request, "campaign.html", data, rows=[row(each) for each in data.targets])


@router.get("/campaigns/{campaign_id}/cancel")
async def ask_to_cancel(request: Request, campaign_id: CampaignId, context: Context) -> Response:
    return page(request, "cancel.html", await service.detail(context.engine, campaign_id))


@router.post("/campaigns/{campaign_id}/cancel", dependencies=[Depends(same_site)])
async def cancel(campaign_id: CampaignId, context: Context) -> Response:
    await service.cancel(context.engine, campaign_id)
    await context.dispatcher.announce("cancel")
    return RedirectResponse(f"/campaigns/{campaign_id}", status.HTTP_303_SEE_OTHER)


async def overview(engine: AsyncEngine, campaign_id: int) -> Overview:
    campaign = await service.detail(engine, campaign_id)
    # The matrix of a running campaign is refreshed beside the requests, a moment behind.
    freshness = None if campaign.state == "running" else await matrix.refreshed(engine, campaign_id)
    verdicts = await service.verdicts(engine, campaign_id)
    failures = await service.failures(engine, campaign_id, FAILURES) if campaign.counters.failed else []
    return Overview(
        campaign=campaign,
        freshness=freshness,
        progress=progress(campaign.counters, elapsed_s(campaign, datetime.now(UTC)), campaign.estimate.seconds),
        targets=lines(campaign, verdicts, datetime.now(UTC)),
        causes=causes(campaign_id, verdicts),
        failed_lately=tuple(failures),
    )


def elapsed_s(campaign: CampaignDetail, now: datetime) -> float:
    return ((campaign.finished_at or now) - campaign.created_at).total_seconds()


def progress(counters: Counters, elapsed_s: float, seconds_left: float | None) -> Progress:
    left = counters.total - counters.done - counters.cancelled
    return Progress(
        percent=100 * (counters.done + counters.cancelled) / counters.total if counters.total else 0.0,
        per_second=counters.done / elapsed_s if counters.done and elapsed_s > 0 else None,
        seconds_left=seconds_left if left else None,
        said=_said(counters, left, seconds_left),
    )


def _said(counters: Counters, left: int, seconds_left: float | None) -> str:
    done = f"{number(counters.done)} of {number(counters.total)} jobs are done"
    if counters.cancelled:
        done += f", {number(counters.cancelled)} were cancelled"
    if not left:
        return f"{done}."
    return f"{done}; about {duration(seconds_left)} left." if seconds_left is not None else f"{done}."


def lines(campaign: CampaignDetail, verdicts: Sequence[VerdictCount], now: datetime) -> tuple[TargetLine, ...]:
    spent_s = elapsed_s(campaign, now)
    return tuple(
        TargetLine(
            target=each,
            progress=progress(each.counters, spent_s, each.estimate.seconds),
            verdict=_tally((one.verdict, one.functions) for one in verdicts if one.target_id == each.id),
            verdict_on_device=_tally(
                (one.verdict_on_device or "unknown", one.functions) for one in verdicts if one.target_id == each.id
            ),
            waits=campaign.state == "running"
            and not each.live_runners
            and each.counters.done + each.counters.cancelled < each.counters.total,
        )
        for each in campaign.by_target
    )


def _tally(counted: Iterable[tuple[str, int]]) -> dict[str, int]:
    tally: Counter[str] = Counter()
    for word, functions in counted:
        tally[word] += functions
    return {word: tally[word] for word in WORDS}


def causes(campaign_id: int, verdicts: Iterable[VerdictCount]) -> tuple[CauseCount, ...]:
    """The main causes of all that did not pass, the most frequent first. A function counts once a target."""
    plain: Counter[str] = Counter()
    on_device: Counter[str] = Counter()
    for each in verdicts:
        # What is in no count has its cause in a column of its own, as the matrix searches it.
        uncounted = each.not_counted_cause if each.verdict == "unknown" else None
        if cause := each.cause or uncounted:
            plain[cause] += each.functions
        if cause := each.cause_on_device or uncounted:
            on_device[cause] += each.functions
    matrix_of = f"/campaigns/{campaign_id}/matrix?q="
    return tuple(
        CauseCount(
            cause=cause,
            functions=plain[cause],
            functions_on_device=on_device[cause],
            address=f"{matrix_of}{quote(f'cause:{cause}')}",
            address_on_device=f"{matrix_of}{quote(f'cause:{cause}')}&verdict=on_device",
        )
        for cause in sorted(plain | on_device, key=lambda each: (-plain[each], -on_device[each], each))
    )


def row(line: TargetLine) -> dict[str, Any]:
    """The target's line of the csv."""
    target = line.target
    return {
        **target.model_dump(include={"target", "hardware", "environment", "simulated", "suite_revision"}),
        **target.counters.model_dump(),
        **{f"verdict_{word}": functions for word, functions in line.verdict.items()},
        **{f"verdict_on_device_{word}": functions for word, functions in line.verdict_on_device.items()},
        "jobs_per_second": line.progress.per_second,
        "seconds_left": line.progress.seconds_left,
        "live_runners": target.live_runners,
        "notes": "; ".join(target.notes),
    }
