"""Runners, targets and fingerprints in the database. This module contains all of their SQL, except for ownership."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, func, insert, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.tables import fingerprints, runner_suites, runners, targets
from protocol.runner import Fingerprint, RunnerInfo

LATELY = 20_000
"""The number of outcomes, those with the highest job ids, among which a runner's latest outcomes are searched."""


@dataclass(frozen=True)
class Registration:
    """A registration, with the columns that an enrollment compares."""

    id: int
    name: str | None
    url: str
    secret: str


async def store_target(connection: AsyncConnection, info: RunnerInfo, *, registering: bool = True) -> int:
    """Store the runner's target and return its id.

    With ``registering``, an existing target's columns outside of the key are updated. A bundle does not change an
    existing target.
    """
    fingerprint = info.fingerprint
    key = {
        "framework": info.framework,
        "version": info.version,
        "device": info.device,
        "hardware": fingerprint.hardware,
        "environment": fingerprint.environment,
    }
    description = {
        "device_class": str(info.device_class),
        "simulated": info.simulated,
        "notes": list(fingerprint.notes),
    }
    new = upsert(targets).values(**key, **description)
    new = (
        new.on_conflict_do_update(index_elements=list(key), set_=description)
        if registering
        else new.on_conflict_do_nothing(index_elements=list(key))
    )
    # DO NOTHING returns no row if the target already exists.
    target_id = (await connection.execute(new.returning(targets.c.id))).scalar_one_or_none()
    if target_id is None:
        target_id = (await connection.execute(select(targets.c.id).filter_by(**key))).scalar_one()
    return int(target_id)


async def store_fingerprint(connection: AsyncConnection, fingerprint: Fingerprint) -> str:
    body = fingerprint.model_dump(mode="json")
    identity = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]
    await connection.execute(upsert(fingerprints).values(id=identity, body=body).on_conflict_do_nothing())
    return identity


async def lock_registration(connection: AsyncConnection, runner_id: int) -> None:
    """Lock a registration. Every transaction that changes a registration locks it first, so that changes happen one
    after the other.

    Claims and finishes also refer to the registration, but are not blocked.
    """
    await connection.execute(select(runners.c.id).where(runners.c.id == runner_id).with_for_update(key_share=True))


async def lock_registration_at(connection: AsyncConnection, url: str) -> int | None:
    """Lock the registration with this URL and return its id; None if there is none."""
    result = await connection.execute(
        select(runners.c.id).where(runners.c.url == url, runners.c.state != "removed").with_for_update(key_share=True)
    )
    return result.scalar_one_or_none()


async def store_runner(connection: AsyncConnection, runner_id: int | None, info: RunnerInfo, **address: str) -> int:
    """Store a runner's description in its registration, or in a new one. Returns the registration's id.

    ``address`` contains its URL and secret, and its name if it enrolled. Missing values leave the stored values
    unchanged. The boot does not change either, because the owner has to notice and handle the restart.
    """
    values = {
        "target_id": await store_target(connection, info),
        "fingerprint_id": await store_fingerprint(connection, info.fingerprint),
        "device_count": info.device_count,
        "slots": info.slots,
        "queue_limit": info.queue_limit,
        "state": "online",
        **address,
    }
    if runner_id is None:
        new = insert(runners).values(boot_id=info.boot_id, last_seen=func.now(), **values)
        return int((await connection.execute(new.returning(runners.c.id))).scalar_one())
    await connection.execute(
        update(runners)
        .where(runners.c.id == runner_id, runners.c.state != "removed")
        .values(reason=None, quarantined_until=None, strikes=0, **values)
    )
    return runner_id


async def store_offer(connection: AsyncConnection, runner_id: int, suite_ids: Sequence[int]) -> None:
    """Store that the runner serves these suites and no others."""
    await connection.execute(delete(runner_suites).where(runner_suites.c.runner_id == runner_id))
    if suite_ids:
        await connection.execute(
            insert(runner_suites), [{"runner_id": runner_id, "suite_id": suite_id} for suite_id in suite_ids]
        )


async def find_registrations(
    connection: AsyncConnection, name: str, url: str, *, for_update: bool = False
) -> frozenset[Registration]:
    """The registrations with this name or this URL: at most one of each. Removed registrations are not included."""
    query = (
        select(runners.c.id, runners.c.name, runners.c.url, runners.c.secret)
        .where(or_(runners.c.name == name, runners.c.url == url), runners.c.state != "removed")
        .order_by(runners.c.id)
    )
    rows = await connection.execute(query.with_for_update(key_share=True) if for_update else query)
    return frozenset(Registration(*row) for row in rows)


_LISTED = """
SELECT r.id, r.name, r.url, r.state, r.reason, r.last_seen, r.quarantined_until, r.device_count,
       t.framework, t.version, t.device, t.device_class, t.hardware, t.environment, t.simulated,
       f.body AS fingerprint, t.framework || '@' || t.version || '/' || t.device AS target,
       (SELECT coalesce(jsonb_object_agg(s.name, s.revision), '{}') FROM runner_suites rs
          JOIN suites s ON s.id = rs.suite_id WHERE rs.runner_id = r.id) AS suites,
       (SELECT count(*) FROM jobs j WHERE j.runner_id = r.id AND j.lease_until IS NOT NULL) AS in_flight
  FROM runners r JOIN targets t ON t.id = r.target_id JOIN fingerprints f ON f.id = r.fingerprint_id
 WHERE r.state <> 'removed' AND (CAST(:id AS int) IS NULL OR r.id = :id)
 ORDER BY r.id
"""


async def list_runners(connection: AsyncConnection, runner_id: int | None = None) -> Sequence[Row[Any]]:
    return (await connection.execute(text(_LISTED), {"id": runner_id})).all()


async def count_waiting_jobs(connection: AsyncConnection) -> dict[int, int]:
    """For each runner, the number of queued jobs for its target. The numbers come from counters, so reading them is
    always cheap."""
    rows = await connection.execute(
        text("""
        SELECT r.id, greatest(0, sum(ct.total - ct.done - ct.cancelled)
                   - (SELECT count(*) FROM jobs j JOIN runners all_ ON all_.id = j.runner_id
                       WHERE all_.target_id = r.target_id AND j.lease_until IS NOT NULL)) AS waiting
          FROM runners r
          JOIN campaign_targets ct ON ct.target_id = r.target_id
          JOIN campaigns c ON c.id = ct.campaign_id AND c.state = 'running'
         WHERE r.state <> 'removed' GROUP BY r.id, r.target_id
        """)
    )
    return {row.id: int(row.waiting) for row in rows}


async def list_jobs_in_flight(connection: AsyncConnection, runner_id: int, most: int) -> Sequence[Row[Any]]:
    """The runner's current jobs, running jobs first."""
    rows = await connection.execute(
        text("""
        SELECT j.id AS job_id, j.campaign_id, c.name AS "case", j.run, j.attempt, j.state, a.started_at
          FROM jobs j
          JOIN cases c ON c.id = j.case_id
          LEFT JOIN attempts a ON a.job_id = j.id AND a.attempt = j.attempt
         WHERE j.runner_id = :id AND j.lease_until IS NOT NULL
         ORDER BY a.started_at NULLS LAST, j.priority, j.id LIMIT CAST(:most AS int)
        """),
        {"id": runner_id, "most": most},
    )
    return rows.all()


async def list_recent_outcomes(connection: AsyncConnection, runner_id: int, most: int) -> Sequence[Row[Any]]:
    """The runner's latest outcomes. Only the newest outcomes of all runners are searched, because there is no index by
    runner."""
    rows = await connection.execute(
        text(f"""
        WITH newest AS (
            SELECT job_id, runner_id, finished_at FROM outcomes ORDER BY job_id DESC LIMIT {LATELY}
        ), its AS (
            SELECT job_id FROM newest WHERE runner_id = :id ORDER BY finished_at DESC LIMIT CAST(:most AS int)
        )
        SELECT o.job_id, o.campaign_id, c.name AS "case", o.run, o.verdict, o.cause, o.placement, o.finished_at
          FROM its JOIN outcomes o ON o.job_id = its.job_id JOIN cases c ON c.id = o.case_id
         ORDER BY o.finished_at DESC, o.job_id DESC
        """),
        {"id": runner_id, "most": most},
    )
    return rows.all()


async def find_runner(connection: AsyncConnection, url: str, boot_id: str) -> int | None:
    """The id of the registered runner with this URL or this boot; None if there is none."""
    result = await connection.execute(
        select(runners.c.id)
        .where(or_(runners.c.url == url, runners.c.boot_id == boot_id), runners.c.state != "removed")
        # False sorts first: the runner at this URL goes before one with this boot.
        .order_by(runners.c.url != url, runners.c.id)
        .limit(1)
    )
    return result.scalar_one_or_none()


async def find_address(connection: AsyncConnection, runner_id: int) -> tuple[str, str] | None:
    """The URL and secret of a runner; None if it was removed."""
    query = select(runners.c.url, runners.c.secret).where(runners.c.id == runner_id, runners.c.state != "removed")
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else (row.url, row.secret)


async def find_twin(connection: AsyncConnection, boot_id: str, runner_id: int | None) -> Registration | None:
    """Another registration with this boot; None if there is none. Removed registrations are not included."""
    result = await connection.execute(
        select(runners.c.id, runners.c.name, runners.c.url, runners.c.secret).where(
            # No registration has the id 0, so that a new runner, which has no id, excludes no registration.
            runners.c.boot_id == boot_id,
            runners.c.state != "removed",
            runners.c.id != (runner_id or 0),
        )
    )
    row = result.first()
    return None if row is None else Registration(*row)


async def remove_runner(connection: AsyncConnection, runner_id: int, reason: str = "removed") -> bool:
    """Remove the runner. Its queued jobs go back to the queue, and its started jobs count as lost.

    The jobs are changed first, because finishes lock rows in this order.
    """
    await connection.execute(
        text("""
        WITH held AS (
            SELECT id FROM jobs WHERE runner_id = :id AND lease_until IS NOT NULL ORDER BY id FOR UPDATE
        ), back AS (
            UPDATE jobs j SET state = 'queued', runner_id = NULL, lease_until = NULL
              FROM held WHERE j.id = held.id RETURNING j.id, j.attempt)
        UPDATE attempts a SET "end" = 'lost', reason = 'the runner was removed', ended_at = now()
          FROM back WHERE a.job_id = back.id AND a.attempt = back.attempt
        """),
        {"id": runner_id},
    )
    result = await connection.execute(
        update(runners)
        .where(runners.c.id == runner_id, runners.c.state != "removed")
        .values(state="removed", owner=None, owner_until=None, reason=reason)
        .returning(runners.c.id)
    )
    return result.scalar_one_or_none() is not None
