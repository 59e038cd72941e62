"""One outcome with everything that is known of it, and one function with all its outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.errors import NotFoundError
from coordinator.results.outcomes import store
from coordinator.results.outcomes.models import (
    Attempt,
    CaseDetail,
    FunctionDetail,
    FunctionOnTarget,
    OtherRun,
    OutcomeDetail,
    RunDetail,
)
from coordinator.results.outcomes.repeat import repeat_command
from coordinator.results.statistics import middle
from coordinator.targets import store as targets_store
from coordinator.targets.models import Target
from coordinator.targets.selectors import spelled
from protocol.outcomes import Evidence

OWN = ("evidence", "proof", "samples_ms", "calls_per_sample", "log_tail", "fingerprint_id", "host_only_because", "tags")
"""Of what the store gives, what is no column of ``outcome_rows``; with these: ``was_…``."""


async def outcome(engine: AsyncEngine, campaign_id: int, job_id: int) -> OutcomeDetail:
    async with engine.connect() as connection:
        row = await store.one(connection, campaign_id, job_id)
        if row is None:
            raise _no_outcome(campaign_id, job_id)
        attempts = await store.attempts(connection, job_id)
        runs = await store.other_runs(connection, job_id)
        targets = {target.id: target for target in await targets_store.of_campaign(connection, campaign_id)}
    target = targets[row["target_id"]]
    columns = {name: value for name, value in row.items() if name not in (*OWN, *store.INTERNAL, *_WAS, *_PLANNED)}
    columns["repeat"] = repeat_command(row["framework"], row["device"], row["case"], row["run"], row["fingerprint"])
    return OutcomeDetail(
        row=columns,
        target=spelled(target),
        sentences=list(target.sentences),
        evidence=None if row["evidence"] is None else _evidence(row["evidence"]),
        samples_ms=row["samples_ms"] or [],
        calls_per_sample=row["calls_per_sample"],
        log=row["log_tail"] or "",
        host_only_because=row["host_only_because"],
        timing=row["timing"],
        timeout_s=row["timeout_s"],
        fingerprint_id=row["fingerprint_id"],
        was={name.removeprefix("was_"): row[name] for name in _WAS} if row["overridden_by"] is not None else None,
        attempts=[Attempt.model_validate(row._mapping) for row in attempts],
        runs=[OtherRun.model_validate(row._mapping) for row in runs],
    )


async def log(engine: AsyncEngine, campaign_id: int, job_id: int) -> str:
    async with engine.connect() as connection:
        found = await store.log_of(connection, campaign_id, job_id)
    if found is None:
        raise _no_outcome(campaign_id, job_id)
    return found


async def function(engine: AsyncEngine, campaign_id: int, framework: str, name: str) -> FunctionDetail:
    campaign = await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        rows = await store.of_function(connection, campaign_id, framework, name)
        if not rows and not await store.planned(connection, campaign_id, framework, name):
            raise NotFoundError(
                f"campaign {campaign_id} has no function {name} of {framework}: see /campaigns/{campaign_id}/matrix"
            )
        targets = await targets_store.of_campaign(connection, campaign_id)
        bodies = await store.fingerprints(connection, sorted({row.fingerprint_id for row in rows} - {None}))
    return FunctionDetail(
        campaign_id=campaign_id,
        campaign=campaign.name,
        state=campaign.state,
        framework=framework,
        function=name,
        targets=[
            _on_target(target, [row for row in rows if row.target_id == target.id], bodies)
            for target in targets
            if target.framework == framework
        ],
    )


def _evidence(stored: dict[str, Any]) -> Evidence:
    """As it is stored: it was checked on its way in, perhaps by the wider limits of an earlier release."""
    return Evidence.model_construct(**{name: stored[name] for name in Evidence.model_fields if name in stored})


_WAS = ("was_verdict", "was_cause", "was_rule")
_PLANNED = ("notes", "timing", "timeout_s")


def _on_target(target: Target, rows: Sequence[Row[Any]], bodies: dict[str, dict[str, Any]]) -> FunctionOnTarget:
    by_case: dict[str, list[Row[Any]]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    return FunctionOnTarget(
        **target.model_dump(include=set(FunctionOnTarget.model_fields)),
        target_id=target.id,
        cases=[_case(target, name, runs, bodies) for name, runs in by_case.items()],
        fingerprints={row.fingerprint_id: bodies[row.fingerprint_id] for row in rows if row.fingerprint_id in bodies},
    )


def _case(target: Target, name: str, rows: Sequence[Row[Any]], bodies: dict[str, dict[str, Any]]) -> CaseDetail:
    measured = [
        row for row in rows if row.verdict == "passed" and (row.placement == "on_device" or row.host_only is not None)
    ]
    return CaseDetail(
        case=name,
        host_only=rows[0].host_only,
        cold_ms=middle(row.cold_ms for row in measured),
        steady_ms=middle(row.steady_ms for row in measured),
        runs=[
            RunDetail(
                repeat=repeat_command(target.framework, target.device, name, row.run, bodies.get(row.fingerprint_id)),
                samples_ms=row.samples_ms or [],
                fallbacks=row.fallbacks or {},
                **{name: value for name, value in row._mapping.items() if name in _OF_RUN},
            )
            for row in rows
        ],
    )


_OF_RUN = RunDetail.model_fields.keys() - {"repeat", "samples_ms", "fallbacks"}


def _no_outcome(campaign_id: int, job_id: int) -> NotFoundError:
    return NotFoundError(
        f"campaign {campaign_id} has no outcome of a job {job_id}: see /campaigns/{campaign_id}/matrix"
    )
