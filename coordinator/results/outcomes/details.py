"""The details of one outcome, and of one function with all its outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.errors import NotFoundError
from coordinator.figures.second_shape import second_shape
from coordinator.results import condition_rows
from coordinator.results.condition_rows import TargetCondition
from coordinator.results.outcomes import store
from coordinator.results.outcomes.confirmations import confirmations
from coordinator.results.outcomes.models import (
    CaseDetail,
    FunctionDetail,
    FunctionOnTarget,
    OutcomeDetail,
    RunDetail,
)
from coordinator.results.outcomes.repeat import repeat_command
from coordinator.results.statistics import low_interval
from coordinator.targets import store as targets_store
from coordinator.targets.models import Target, labels
from protocol.outcomes import Evidence


async def outcome(engine: AsyncEngine, campaign_id: int, job_id: int) -> OutcomeDetail:
    async with engine.connect() as connection:
        row = await store.one(connection, campaign_id, job_id)
        if row is None:
            raise _no_outcome(campaign_id, job_id)
        columns = await store.columns(connection)
        attempts = await store.attempts(connection, job_id)
        runs = await store.other_runs(connection, job_id)
        targets = {target.id: target for target in await targets_store.of_campaign(connection, campaign_id)}
    target = targets[row["target_id"]]
    evidence = None if row["evidence"] is None else _evidence(row["evidence"])
    row["repeat"] = repeat_command(row["framework"], row["device"], row["case"], row["run"], row["fingerprint"])
    return OutcomeDetail.model_validate(
        {
            **row,
            "row": {name: row[name] for name in columns},
            "target": target.target,
            "sentences": target.sentences,
            "evidence": evidence,
            "confirmations": confirmations(evidence, has_passed=row["verdict"] == "passed"),
            "samples_ms": row["samples_ms"] or [],
            "low_interval_ms": low_interval(row["samples_ms"] or []),
            "log": row["log_tail"] or "",
            "was": {name: row[f"was_{name}"] for name in _WAS} if row["overridden_by"] is not None else None,
            "attempts": [attempt._mapping for attempt in attempts],
            "runs": [run._mapping for run in runs],
        }
    )


async def log(engine: AsyncEngine, campaign_id: int, job_id: int) -> str:
    async with engine.connect() as connection:
        log_text = await store.log_of(connection, campaign_id, job_id)
    if log_text is None:
        raise _no_outcome(campaign_id, job_id)
    return log_text


async def function(engine: AsyncEngine, campaign_id: int, framework: str, name: str) -> FunctionDetail:
    campaign = await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        rows = await store.of_function(connection, campaign_id, framework, name)
        if not rows and not await store.is_planned(connection, campaign_id, framework, name):
            raise NotFoundError(
                f"campaign {campaign_id} has no function {name} of {framework}: see /campaigns/{campaign_id}/matrix"
            )
        targets = await targets_store.of_campaign(connection, campaign_id)
        latencies = await store.latencies_of_function(connection, campaign_id, framework, name)
        bodies = await store.fingerprints(connection, sorted({row.fingerprint_id for row in rows} - {None}))
        conditions = await condition_rows.of_functions(connection, campaign_id, [(framework, name)])
    target_labels = labels(targets)
    by_target = {key[-1]: condition_rows.row(key, condition, target_labels) for key, condition in conditions.items()}
    return FunctionDetail(
        campaign_id=campaign_id,
        campaign=campaign.name,
        state=campaign.state,
        framework=framework,
        function=name,
        targets=[
            _on_target(
                target,
                [row for row in rows if row.target_id == target.id],
                latencies,
                bodies,
                by_target.get(target.id),
            )
            for target in targets
            if target.framework == framework
        ],
    )


def _evidence(values: dict[str, Any]) -> Evidence:
    """Build a model from stored evidence without validation, because it was validated on arrival and an earlier release
    may have had wider limits.
    """
    return Evidence.model_construct(**{name: values[name] for name in Evidence.model_fields if name in values})


_WAS = ("verdict", "cause", "rule")


def _on_target(
    target: Target,
    rows: Sequence[Row[Any]],
    latencies: dict[tuple[int, int], Row[Any]],
    bodies: dict[str, dict[str, Any]],
    condition: TargetCondition | None,
) -> FunctionOnTarget:
    by_case: dict[str, list[Row[Any]]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    cases = [_case(target, runs, latencies.get((target.id, runs[0].case_id)), bodies) for runs in by_case.values()]
    return FunctionOnTarget(
        **target.model_dump(include=set(FunctionOnTarget.model_fields)),
        target_id=target.id,
        condition=condition,
        second_shape=second_shape(
            (case.recompiled, case.cold_ms if case.recompiled else case.first_cold_ms) for case in cases
        ),
        cases=cases,
        fingerprints={row.fingerprint_id: bodies[row.fingerprint_id] for row in rows if row.fingerprint_id in bodies},
    )


def _case(
    target: Target, rows: Sequence[Row[Any]], latencies: Row[Any] | None, bodies: dict[str, dict[str, Any]]
) -> CaseDetail:
    name = rows[0].case
    return CaseDetail(
        case=name,
        host_only=rows[0].host_only,
        judged_by=rows[0].judged_by,
        input_kinds=rows[0].inputs,
        options=rows[0].options,
        recompiled=rows[0].recompiled,
        **{measure: getattr(latencies, measure, None) for measure in _LATENCIES},
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


_LATENCIES = ("cold_ms", "first_cold_ms", "later_cold_ms", "low_ms", "steady_ms", "unconfirmed")
_OF_RUN = RunDetail.model_fields.keys() - {"repeat", "samples_ms", "fallbacks"}


def _no_outcome(campaign_id: int, job_id: int) -> NotFoundError:
    return NotFoundError(
        f"campaign {campaign_id} has no outcome of a job {job_id}: see /campaigns/{campaign_id}/matrix"
    )
