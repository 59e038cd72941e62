"""Submits, watches and cancels campaigns: the layer between the API and the store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Row
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.access.caller import Caller
from coordinator.access.roles import Role
from coordinator.campaigns import store
from coordinator.campaigns.models import (
    Campaign,
    CampaignDetail,
    CampaignPage,
    CampaignTarget,
    Counters,
    DryRun,
    PlannedTarget,
    RecentFailure,
    TimeEstimate,
    VerdictCount,
)
from coordinator.campaigns.plan import Plan, TargetPlan, check_suite, make_plan, of_framework
from coordinator.campaigns.request import CampaignRequest
from coordinator.campaigns.timing import choose_timing
from coordinator.catalogue.models import ChartedSample
from coordinator.catalogue.sample import chart_sample
from coordinator.configuration.bounds import Bounds, require_campaign_jobs, require_user_jobs
from coordinator.database.connection import transact
from coordinator.errors import ConflictError, NotFoundError, RequestError, UnknownNameError
from coordinator.targets import store as targets_store
from coordinator.targets.models import Target
from coordinator.targets.selectors import TargetName, select_of_campaign, select_targets

ENOUGH_JOBS = 5
"""The minimum number of finished jobs for an estimate of the time left."""


async def submit(
    engine: AsyncEngine, request: CampaignRequest, bounds: Bounds, created_by: str | None, key: str | None = None
) -> tuple[CampaignDetail, bool]:
    """Plan a campaign and store it, within the limits. Returns the campaign, and whether it is new.

    ``created_by`` is the submitter's name, if there is access control. If the submitter has sent the ``key`` before,
    the campaign of the earlier request is returned. The returned details are read before the commit, because an error
    after the commit would hide that the campaign is stored.
    """
    submission = None if key is None else store.Submission.of(key, request, created_by)

    async def work(connection: AsyncConnection) -> tuple[CampaignDetail, bool]:
        if submission is not None and (earlier := await store.find_submission(connection, submission)) is not None:
            campaign_id, is_same = earlier
            if not is_same:
                raise RequestError(
                    f"the Idempotency-Key was already used for a different request (campaign {campaign_id}): "
                    "use a new key"
                )
            return await _detail(connection, campaign_id), False
        plan, sample = await _plan(connection, request, bounds)
        waiting = await store.unfinished_jobs(connection, created_by)
        require_user_jobs(waiting, plan.jobs, created_by, bounds)
        campaign_id = await store.create(connection, request, plan, sample, created_by, submission)
        return await _detail(connection, campaign_id), True

    try:
        return await transact(engine, work)
    except IntegrityError:
        if submission is None:
            raise
        # The same request was submitted concurrently and is stored now.
        return await transact(engine, work)


async def dry_run(engine: AsyncEngine, request: CampaignRequest, bounds: Bounds) -> DryRun:
    async with engine.connect() as connection:
        plan, sample = await _plan(connection, request, bounds)
        durations = await store.earlier_durations(connection, plan)
    return DryRun(
        jobs=plan.jobs,
        functions=len(plan.functions),
        cases=len({case for target in plan.targets for case in target.case_ids}),
        not_charted=sample.not_charted if sample is not None else list(plan.not_charted),
        targets=[str(target.target) for target in plan.targets],
        estimate=estimate_of_plan(plan, durations),
        by_target=[
            PlannedTarget(
                target=str(target.target),
                jobs=len(target.case_ids) * plan.runs,
                functions=len(target.functions),
                estimate=estimate_of_part(target, plan.runs, durations),
            )
            for target in plan.targets
        ],
    )


async def _plan(
    connection: AsyncConnection, request: CampaignRequest, bounds: Bounds
) -> tuple[Plan, ChartedSample | None]:
    """Return the plan, and the sample if the request's functions are a sample."""
    check_suite(request.suite, await store.suite_names(connection))
    live = await store.live_targets(connection)
    targets = select_targets(request.targets, live, () if live else await store.away_runners(connection))
    if request.sample is not None:
        targets = of_framework(request.sample.framework, targets)
    offers = await store.offers(connection, request.suite, targets)
    functions, sample = request.functions, None
    if request.sample is not None:
        sample = chart_sample(request.sample, {case.function for offer in offers for case in offer.cases})
        functions = sample.functions
        if offers and not functions:
            raise UnknownNameError(
                f"the suite '{request.suite}' has no case of any function of the sample: choose another suite",
                "suite",
            )
    only = None
    if request.rerun is not None:
        if await store.read_campaign(connection, request.rerun.campaign) is None:
            raise _no_campaign(request.rerun.campaign)
        names = await store.left_over(connection, request.rerun.campaign, request.rerun.which)
        only = {
            offer.target.id: frozenset(
                case.id for case in offer.cases if case.name in names.get(offer.target.id, frozenset())
            )
            for offer in offers
        }
    # This runs in a thread: a thousand globs over a large suite take seconds, and other requests must be answered
    # meanwhile.
    plan = await asyncio.to_thread(make_plan, request.suite, offers, targets, functions, request.runs, only)
    require_campaign_jobs(plan.jobs, bounds)
    planned_ids = {target.target.id for target in plan.targets}
    timing = choose_timing(request, [offer.timing for offer in offers if offer.target.id in planned_ids])
    return replace(plan, timing=timing), sample


async def list_campaigns(engine: AsyncEngine, *, before: int | None, limit: int) -> CampaignPage:
    async with engine.connect() as connection:
        rows = await store.list_campaigns(connection, before=before, limit=limit)
    campaigns = [Campaign.model_validate(_campaign(row)) for row in rows]
    return CampaignPage(campaigns=campaigns, next=campaigns[-1].id if len(campaigns) == limit else None)


async def target_names(engine: AsyncEngine, campaign_ids: Sequence[int]) -> dict[int, list[str]]:
    """The names by which each of these campaigns' targets can be chosen."""
    async with engine.connect() as connection:
        return await targets_store.names_by_campaign(connection, campaign_ids)


async def detail(engine: AsyncEngine, campaign_id: int) -> CampaignDetail:
    async with engine.connect() as connection:
        return await _detail(connection, campaign_id)


async def _detail(connection: AsyncConnection, campaign_id: int) -> CampaignDetail:
    row = await store.read_campaign(connection, campaign_id)
    if row is None:
        raise _no_campaign(campaign_id)
    targets = await targets_store.of_campaign(connection, campaign_id)
    progress = await store.read_progress(connection, campaign_id)
    by_target = [
        _target(target, progress[target.id], row.elapsed_s, verdicts_first=row.verdicts_first) for target in targets
    ]
    whole = _campaign(row)
    if row.state == "running":
        # Targets run in parallel, so the slowest one determines the time.
        seconds = [target.estimate.seconds for target in by_target if target.counters.total > target.counters.settled]
        estimates = [left for left in seconds if left is not None]
        whole["estimate"] = TimeEstimate(
            seconds=max(estimates) if estimates and len(estimates) == len(seconds) else None,
            measured_jobs=whole["counters"].done,
            is_lower_bound=row.verdicts_first,
        )
    return CampaignDetail.model_validate({**whole, "by_target": by_target})


async def sample(engine: AsyncEngine, campaign_id: int) -> ChartedSample | None:
    """Return the sample that the campaign's functions form; None if they were chosen in another way."""
    async with engine.connect() as connection:
        if await store.read_campaign(connection, campaign_id) is None:
            raise _no_campaign(campaign_id)
        stored_sample = await store.read_sample(connection, campaign_id)
    return None if stored_sample is None else ChartedSample.model_validate(stored_sample)


async def verdicts(engine: AsyncEngine, campaign_id: int) -> list[VerdictCount]:
    """Return the verdicts of the functions so far, by each rule that pages show side by side. They come from the stored
    matrix, so they are as old as the matrix."""
    async with engine.connect() as connection:
        rows = await store.verdicts(connection, campaign_id)
    return [VerdictCount.model_validate(row._mapping) for row in rows]


async def failures(engine: AsyncEngine, campaign_id: int, most: int) -> list[RecentFailure]:
    """Return the latest failures, newest first."""
    async with engine.connect() as connection:
        rows = await store.failed_lately(connection, campaign_id, most)
    return [RecentFailure.model_validate(row._mapping) for row in rows]


async def incomplete(engine: AsyncEngine, campaign_id: int, functions: int) -> list[RecentFailure]:
    """Return the incomplete outcomes of at most ``functions`` functions, according to the stored matrix."""
    async with engine.connect() as connection:
        rows = await store.incomplete(connection, campaign_id, functions)
    return [RecentFailure.model_validate(row._mapping) for row in rows]


async def cancel(
    engine: AsyncEngine, campaign_id: int, caller: Caller, selectors: Sequence[str] = ()
) -> CampaignDetail:
    """Cancel the jobs that are not done, on the targets that the selectors match. Without selectors, on all targets."""

    async def work(connection: AsyncConnection) -> None:
        row = await store.read_campaign(connection, campaign_id)
        if row is None:
            raise _no_campaign(campaign_id)
        if row.created_by != caller.name:
            caller.require(Role.operator)
        if selectors:
            targets = await targets_store.of_campaign(connection, campaign_id)
            cancelled_targets = select_of_campaign(
                selectors,
                [TargetName(target.id, target.framework, target.version, target.device) for target in targets],
            )
            had_ended = not await store.cancel_targets(
                connection, campaign_id, [target.id for target in cancelled_targets]
            )
        else:
            had_ended = not await store.cancel(connection, campaign_id)
        if had_ended and row.state == "done":
            raise ConflictError(f"campaign {campaign_id} is done: there is nothing left to cancel")

    await transact(engine, work)
    return await detail(engine, campaign_id)


def estimate_of_plan(plan: Plan, durations: Mapping[int, tuple[float, int]]) -> TimeEstimate:
    """Estimate the plan's time from earlier durations of the same cases. The estimate is unknown if one of the targets
    has run none of these cases."""
    parts = [estimate_of_part(target, plan.runs, durations) for target in plan.targets]
    seconds = [part.seconds for part in parts if part.seconds is not None]
    return TimeEstimate(
        seconds=max(seconds) if len(seconds) == len(parts) else None,
        measured_jobs=sum(part.measured_jobs for part in parts),
    )


def estimate_of_part(part: TargetPlan, runs: int, durations: Mapping[int, tuple[float, int]]) -> TimeEstimate:
    """Estimate the time of one target from earlier durations of its cases."""
    if part.target.id not in durations:
        return TimeEstimate(seconds=None, measured_jobs=0)
    mean_s, jobs = durations[part.target.id]
    return TimeEstimate(seconds=len(part.case_ids) * runs * mean_s, measured_jobs=jobs)


def estimate_of_rest(
    counters: Counters, elapsed_s: float, *, is_served: bool = True, verdicts_first: bool = False
) -> TimeEstimate:
    """Estimate the time left from the rate so far. The estimate is unknown while no runner serves the remaining jobs.

    If the campaign determines verdicts first, the estimate is a lower bound until the end: the finished jobs contain
    all untimed ones, and the remaining jobs are timed.
    """
    left = counters.total - counters.settled
    if left == 0:
        return TimeEstimate(seconds=0.0, measured_jobs=counters.done)
    if counters.done < ENOUGH_JOBS or not is_served:
        return TimeEstimate(seconds=None, measured_jobs=counters.done)
    return TimeEstimate(
        seconds=left * elapsed_s / counters.done, measured_jobs=counters.done, is_lower_bound=verdicts_first
    )


def _counters(row: Row[Any]) -> Counters:
    return Counters(**{name: int(getattr(row, name)) for name in Counters.model_fields})


def _campaign(row: Row[Any]) -> dict[str, Any]:
    counters = _counters(row)
    values = {name: getattr(row, name) for name in Campaign.model_fields if name not in ("counters", "estimate")}
    estimate = estimate_of_rest(counters, row.elapsed_s, verdicts_first=row.verdicts_first)
    return {**values, "counters": counters, "estimate": estimate}


def _target(target: Target, row: Row[Any], elapsed_s: float, *, verdicts_first: bool) -> CampaignTarget:
    counters = _counters(row)
    estimate = estimate_of_rest(counters, elapsed_s, is_served=row.live_runners > 0, verdicts_first=verdicts_first)
    return CampaignTarget.model_validate(
        {**row._mapping, **target.model_dump(), "counters": counters, "estimate": estimate}
    )


def _no_campaign(campaign_id: int) -> NotFoundError:
    return NotFoundError(f"there is no campaign {campaign_id}: `portolan status` shows the existing campaigns")
