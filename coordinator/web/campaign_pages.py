"""The pages of campaigns: the list, one campaign with its progress, and cancelling."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response, status
from fastapi.responses import RedirectResponse
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.access.caller import CurrentCaller, needs
from coordinator.access.roles import Role
from coordinator.campaigns import service
from coordinator.campaigns.models import (
    CampaignDetail,
    CampaignTarget,
    Counters,
    RecentFailure,
    TimeEstimate,
    VerdictCount,
)
from coordinator.campaigns.store import LONGEST_SAID
from coordinator.catalogue.coverage import sentence
from coordinator.catalogue.sample import sample_sentence
from coordinator.figures.counting import ANYWHERE, ON_DEVICE, SIDE_BY_SIDE
from coordinator.figures.formats import number
from coordinator.http.context import Context
from coordinator.http.parameters import CampaignId, CampaignNumber
from coordinator.http.routers import PageRouter
from coordinator.results import samples
from coordinator.results import service as matrix
from coordinator.results.coverage import of_matrix
from coordinator.results.lowerings import lowering_rate, lowering_sentence
from coordinator.results.models import CampaignSample, Freshness, is_rated
from coordinator.results.summary import ports_in_short
from coordinator.web.pages import page
from protocol.enums import Cause, is_lowered

router = PageRouter()

FAILURES = 100
"""The number of latest failures that are read."""
GROUPS = 10
"""The maximum number of groups of failures on the page."""
NO_FAILURES = frozenset(
    {Cause.removed, Cause.not_applicable, Cause.lowered, Cause.environment, Cause.infrastructure, Cause.cancelled}
)
"""Causes of outcomes that no verdict counts."""
WORDS = ("success", "partial", "complete", "unknown")


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """The finished share of the jobs, and the rate at which they finish."""

    percent: float
    per_second: float | None
    estimate: TimeEstimate
    """The time left; without a time if no job is left."""
    said: str


@dataclass(frozen=True, slots=True)
class CauseCount:
    """A cause, and the number of functions on a target whose main cause it is, by each rule that is shown."""

    cause: str
    functions: dict[str, int]
    """The number of functions by the name of the rule."""
    addresses: dict[str, str]
    """The addresses of matrices that show these functions, by the name of the rule."""

    @property
    def is_failure(self) -> bool:
        return self.cause not in NO_FAILURES


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """The latest failures of one function on one target that have the same cause."""

    function: str
    framework: str
    target: str
    cause: str | None
    said: str | None
    """The text of the latest failure."""
    jobs: tuple[int, ...]
    """The job ids of the failures, latest first."""


@dataclass(frozen=True, slots=True)
class TargetLine:
    """One target, with its functions by verdict."""

    target: CampaignTarget
    progress: CampaignProgress
    functions: dict[str, dict[str, int]]
    """The number of functions with each verdict, by the name of the rule."""
    bar: dict[str, int]
    """The number of rated functions with each verdict on the device."""
    answer: str | None
    """How many functions port, as a sentence; None while no function has a verdict."""
    lowering: str | None
    """For a target that only lowers programs, the rate in words. Its functions have no verdict."""
    waits: bool
    """Whether the target has jobs left but no runner serves it."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The contents of a campaign's page."""

    campaign: CampaignDetail
    freshness: Freshness | None
    """The number of outcomes from which the functions were counted; None while the campaign runs."""
    progress: CampaignProgress
    targets: tuple[TargetLine, ...]
    causes: tuple[CauseCount, ...]
    failed_lately: tuple[FailureGroup, ...]
    incomplete: tuple[FailureGroup, ...]
    """The outcomes without a verdict, by reason."""
    coverage: tuple[str, ...]
    """The share of each framework that was charted, in sentences."""
    sample: CampaignSample | None
    """The sample that the campaign's functions form; None if they are not a sample."""


@router.get("/campaigns")
async def list_campaigns(request: Request, context: Context, before: CampaignNumber = None) -> Response:
    campaign_page = await service.list_campaigns(context.engine, before=before, limit=50)
    rows = [campaign.model_dump(mode="json", exclude={"targets", "functions"}) for campaign in campaign_page.campaigns]
    return page(request, "campaigns.html", campaign_page, rows=rows)


@router.get("/campaigns/{campaign_id}")
async def show_campaign(request: Request, campaign_id: CampaignId, context: Context) -> Response:
    data = await overview(context.engine, campaign_id)
    return page(
        request,
        "campaign.html",
        data,
        rows=[_row(line) for line in data.targets],
        rules=SIDE_BY_SIDE,
        verdicts=WORDS,
        sample_sentence=sample_sentence,
    )


@router.get("/campaigns/{campaign_id}/cancel", dependencies=[needs(Role.submitter)])
async def confirm_cancelling(request: Request, campaign_id: CampaignId, context: Context) -> Response:
    return page(request, "cancel.html", await service.detail(context.engine, campaign_id))


@router.post("/campaigns/{campaign_id}/cancel", dependencies=[needs(Role.submitter)])
async def cancel(campaign_id: CampaignId, context: Context, caller: CurrentCaller) -> Response:
    await service.cancel(context.engine, campaign_id, caller)
    await context.announce("cancel")
    return RedirectResponse(f"/campaigns/{campaign_id}", status.HTTP_303_SEE_OTHER)


async def overview(engine: AsyncEngine, campaign_id: int) -> Overview:
    campaign = await service.detail(engine, campaign_id)
    # The matrix of a running campaign is refreshed in the background, so it is a moment old.
    freshness = None if campaign.state == "running" else await matrix.ensure_fresh(engine, campaign_id)
    verdicts = await service.verdicts(engine, campaign_id)
    failures = await service.failures(engine, campaign_id, FAILURES) if campaign.counters.failed else []
    incomplete = await service.incomplete(engine, campaign_id, GROUPS) if campaign.counters.incomplete else []
    coverages = await of_matrix(engine, campaign_id, campaign.suite)
    sample = await samples.of_campaign(engine, campaign_id) if campaign.sample is not None else None
    elapsed_s = ((campaign.finished_at or datetime.now(UTC)) - campaign.created_at).total_seconds()
    return Overview(
        campaign=campaign,
        freshness=freshness,
        progress=progress(campaign.counters, elapsed_s, campaign.estimate),
        targets=tuple(_line(campaign, target, verdicts, elapsed_s) for target in campaign.by_target),
        causes=causes(campaign_id, verdicts),
        failed_lately=group_failures(failures)[:GROUPS],
        incomplete=group_failures(incomplete)[:GROUPS],
        coverage=tuple(map(sentence, coverages)),
        sample=sample,
    )


def progress(counters: Counters, elapsed_s: float, estimate: TimeEstimate) -> CampaignProgress:
    left = counters.total - counters.done - counters.cancelled
    sentence = f"{number(counters.done)} of {number(counters.total)} jobs are done"
    if counters.cancelled:
        sentence += f", {number(counters.cancelled)} were cancelled"
    if left and estimate.seconds is not None:
        sentence += f"; {'' if estimate.is_lower_bound else 'about '}{estimate.words} left"
    return CampaignProgress(
        percent=100 * (counters.done + counters.cancelled) / counters.total if counters.total else 0.0,
        per_second=counters.done / elapsed_s if counters.done and elapsed_s > 0 else None,
        estimate=estimate if left else estimate.model_copy(update={"seconds": None}),
        said=f"{sentence}.",
    )


def causes(campaign_id: int, verdicts: Iterable[VerdictCount]) -> tuple[CauseCount, ...]:
    """The main causes of failures, the most frequent first. A function counts once for each target."""
    functions_by_cause: dict[str, Counter[str]] = {rule.name: Counter() for rule in SIDE_BY_SIDE}
    for row in verdicts:
        # A lowered function has no failure.
        if row.cause is not None and row.lowering != Cause.lowered:
            functions_by_cause[row.rule][row.cause] += row.functions
    cause_counts = [
        CauseCount(
            cause=cause,
            functions={name: causes[cause] for name, causes in functions_by_cause.items()},
            addresses={
                name: f"/campaigns/{campaign_id}/matrix?{urlencode({'q': f'cause:{cause}', 'rule': name})}"
                for name in functions_by_cause
            },
        )
        for cause in {cause for causes in functions_by_cause.values() for cause in causes}
    ]
    return tuple(
        sorted(cause_counts, key=lambda count: (*(-functions for functions in count.functions.values()), count.cause))
    )


def group_failures(failures: Iterable[RecentFailure]) -> tuple[FailureGroup, ...]:
    """Group the failures of one function on one target with one cause. The group with the latest failure comes
    first."""
    groups: dict[tuple[str, str, str | None], list[RecentFailure]] = defaultdict(list)
    for failure in failures:
        target = f"{failure.framework}@{failure.version}/{failure.device}"
        groups[failure.function, target, failure.cause].append(failure)
    return tuple(
        FailureGroup(function, own[0].framework, target, cause, _shorten(own[0].said), tuple(one.job_id for one in own))
        for (function, target, cause), own in groups.items()
    )


def _shorten(said: str | None) -> str | None:
    return f"{said}…" if said is not None and len(said) == LONGEST_SAID else said


def _line(
    campaign: CampaignDetail, target: CampaignTarget, verdicts: Iterable[VerdictCount], elapsed_s: float
) -> TargetLine:
    counters = target.counters
    functions = {rule.name: dict.fromkeys(WORDS, 0) for rule in SIDE_BY_SIDE}
    rated_functions = {rule.name: dict.fromkeys(WORDS, 0) for rule in SIDE_BY_SIDE}
    lowerings: list[str | None] = []
    for row in verdicts:
        if row.target_id == target.id:
            functions[row.rule][row.verdict or "unknown"] += row.functions
            if row.anywhere is None or is_rated(row.anywhere, row.of_another_device):
                rated_functions[row.rule][row.verdict or "unknown"] += row.functions
            if row.rule == ANYWHERE.name:
                lowerings += [row.lowering] * row.functions
    return TargetLine(
        target=target,
        progress=progress(counters, elapsed_s, target.estimate),
        functions=functions,
        bar=rated_functions[ON_DEVICE.name],
        answer=ports_in_short(rated_functions[ANYWHERE.name], rated_functions[ON_DEVICE.name]),
        lowering=lowering_sentence(lowering_rate(lowerings)) if is_lowered(target.device) else None,
        waits=campaign.state == "running" and target.waits,
    )


def _row(line: TargetLine) -> dict[str, Any]:
    """The row of a target in the csv."""
    target = line.target
    return {
        **target.model_dump(include={"target", "hardware", "environment", "simulated", "suite_revision"}),
        **target.counters.model_dump(),
        **{
            f"{rule.counted_by}_{word}": functions
            for rule in SIDE_BY_SIDE
            for word, functions in line.functions[rule.name].items()
        },
        "lowering": line.lowering,
        "jobs_per_second": line.progress.per_second,
        "seconds_left": line.progress.estimate.seconds,
        "live_runners": target.live_runners,
        "notes": "; ".join(target.notes),
    }
