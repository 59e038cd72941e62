"""Applies the current rules to stored outcomes, and sets causes by hand."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.causes import store
from coordinator.causes.models import Override, OverrideRequest, Reclassification, Reclassified
from coordinator.causes.rules import RULES_REVISION, Classification, classify, verdict_of
from coordinator.causes.store import OVERRIDDEN, ClassifiedOutcome
from coordinator.database.connection import allow_long_statements, transact
from coordinator.errors import ConflictError, NotFoundError, UnknownNameError
from coordinator.targets import store as targets
from coordinator.targets.selectors import Selector, target_name
from protocol.enums import Cause, Ending, Verdict
from protocol.outcomes import Evidence, Outcome


async def reclassify(engine: AsyncEngine, campaign_id: int | None) -> Reclassified:
    """Apply the current rules to the outcomes of one campaign, or of all campaigns if None, in one transaction."""
    if campaign_id is not None:
        await campaigns.detail(engine, campaign_id)

    async def work(connection: AsyncConnection) -> Reclassified:
        await allow_long_statements(connection)
        await store.lock_exclusively(connection)
        return await _reclassify_rows(connection, campaign_id)

    return await transact(engine, work)


async def _reclassify_rows(connection: AsyncConnection, campaign_id: int | None) -> Reclassified:
    looked_at = overridden = without_report = 0
    new_classifications: list[ClassifiedOutcome] = []
    changes: Counter[tuple[Cause | None, str | None, Cause | None, str | None]] = Counter()
    async for rows in store.not_passed(connection, campaign_id):
        looked_at += len(rows)
        overridden += sum(row.overridden for row in rows)
        without_report += sum(row.unreported and not row.overridden for row in rows)
        reclassifiable = [row for row in rows if not row.overridden and not row.unreported]
        # A page at a time in a thread, so that other requests are answered meanwhile.
        for row, now in zip(reclassifiable, await asyncio.to_thread(_classify, reclassifiable), strict=True):
            if (now.verdict, now.cause, now.rule) != (row.verdict, row.cause, row.rule):
                changes[row.cause, row.rule, now.cause, now.rule] += 1
                new_classifications.append(ClassifiedOutcome(row.job_id, now.verdict, now.cause, now.rule))
    # The counters are updated last, because finishes of these campaigns' jobs wait for them.
    await store.rename(connection, new_classifications)
    return Reclassified(
        rules=RULES_REVISION,
        looked_at=looked_at,
        changed=changes.total(),
        overridden=overridden,
        unreported=without_report,
        changes=[
            Reclassification(was=was, was_rule=was_rule, now=now_, now_rule=now_rule, outcomes=count)
            for (was, was_rule, now_, now_rule), count in changes.most_common()
        ],
    )


def _classify(rows: Sequence[Row[Any]]) -> list[Classification]:
    return [classify(_outcome(row), framework=row.framework, device=row.device) for row in rows]


def _outcome(row: Row[Any]) -> Outcome:
    return Outcome.model_construct(
        verdict=Verdict(row.verdict),
        ending=Ending(row.ending),
        evidence=Evidence.model_validate(row.evidence) if row.evidence else None,
        log_tail=row.log_tail or "",
    )


async def override(engine: AsyncEngine, campaign_id: int, request: OverrideRequest, by: str) -> Override:
    """Set a cause by hand. It takes precedence over every rule until it is removed."""
    async with _review(engine, campaign_id) as connection:
        target_id, jobs = await _jobs(connection, campaign_id, request.case, request.target)
        await _put(connection, jobs, request.cause, by, request.why)
        (new_override,) = await _overrides(connection, campaign_id, request.case, target_id)
    return new_override


async def undo(engine: AsyncEngine, campaign_id: int, case: str, target: str) -> None:
    """Remove an override. The cause that the rules had decided is stored again."""
    async with _review(engine, campaign_id) as connection:
        _, jobs = await _jobs(connection, campaign_id, case, target)
        await _take(connection, jobs, f"{case} on {target} in campaign {campaign_id}")


async def override_outcome(engine: AsyncEngine, campaign_id: int, job_id: int, cause: Cause, by: str, why: str) -> None:
    """Set a cause by hand, as ``override`` does, for the case and target of this outcome."""
    async with _review(engine, campaign_id) as connection:
        await _put(connection, await _runs_of(connection, campaign_id, job_id), cause, by, why)


async def undo_outcome(engine: AsyncEngine, campaign_id: int, job_id: int) -> None:
    """Remove an override, as ``undo`` does, for the case and target of this outcome."""
    async with _review(engine, campaign_id) as connection:
        await _take(
            connection, await _runs_of(connection, campaign_id, job_id), f"job {job_id} in campaign {campaign_id}"
        )


@asynccontextmanager
async def _review(engine: AsyncEngine, campaign_id: int) -> AsyncIterator[AsyncConnection]:
    """Yield a transaction with the exclusive right to change causes. Raises ``ConflictError`` while the campaign
    runs."""
    if (await campaigns.detail(engine, campaign_id)).state == "running":
        raise ConflictError(f"campaign {campaign_id} is still running: wait until it has ended, then change its causes")
    async with engine.begin() as connection:
        await store.lock_exclusively(connection)
        yield connection


async def _put(connection: AsyncConnection, jobs: Sequence[int], cause: Cause, by: str, why: str) -> None:
    await store.put_overrides(connection, jobs, cause, by, why)
    verdict = verdict_of(cause)
    await store.rename(connection, [ClassifiedOutcome(job, verdict, cause, OVERRIDDEN) for job in jobs])


async def _take(connection: AsyncConnection, jobs: Sequence[int], of: str) -> None:
    earlier = await store.take_overrides(connection, jobs)
    if not earlier:
        raise NotFoundError(f"the cause of {of} is not overridden: there is nothing to undo")
    await store.rename(connection, earlier)


async def overrides(engine: AsyncEngine, campaign_id: int) -> list[Override]:
    await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        return await _overrides(connection, campaign_id)


async def _overrides(
    connection: AsyncConnection, campaign_id: int, case: str | None = None, target_id: int | None = None
) -> list[Override]:
    return [
        Override(
            case=row.case,
            target=target_name(row),
            cause=row.cause,
            verdict=row.verdict,
            by=row.author,
            why=row.why,
            at=row.created_at,
            outcomes=row.outcomes,
        )
        for row in await store.overrides(connection, campaign_id, case, target_id)
    ]


async def _jobs(connection: AsyncConnection, campaign_id: int, case: str, target: str) -> tuple[int, Sequence[int]]:
    selector = Selector.parse(target)
    there = await targets.of_campaign(connection, campaign_id)
    matches = [candidate for candidate in there if selector.matches(candidate)]
    if len(matches) != 1:
        names = ", ".join(sorted(candidate.target for candidate in there))
        raise UnknownNameError(
            f"'{target}' matches {len(matches)} targets of campaign {campaign_id}; name exactly one of: {names}"
        )
    jobs = await store.runs_that_did_not_pass(connection, campaign_id, matches[0].id, case)
    if not jobs:
        raise NotFoundError(
            f"campaign {campaign_id} has no failed, skipped or incomplete outcome of {case} on {matches[0].target}: "
            f"check the case's name (/campaigns/{campaign_id}/matrix lists the results)"
        )
    return matches[0].id, jobs


async def _runs_of(connection: AsyncConnection, campaign_id: int, job_id: int) -> Sequence[int]:
    """Return the runs of the outcome's case on its target that did not pass."""
    where = await store.where(connection, campaign_id, job_id)
    if where is None:
        raise NotFoundError(
            f"campaign {campaign_id} has no outcome of a job {job_id}: see /campaigns/{campaign_id}/matrix"
        )
    jobs = await store.runs_that_did_not_pass(connection, campaign_id, where.target_id, where.case)
    if not jobs:
        raise ConflictError(f"all runs of {where.case} passed, so the case has no cause that you could override")
    return jobs
