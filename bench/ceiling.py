"""Measures the upper limit of dispatch: the queue's SQL statements in a loop, without HTTP, events or decisions.

One connection claims as many jobs at a time as a session does. Another connection finishes as many jobs at a time as
the outcome writer does. Both run at full speed. No program that stores these outcomes with these statements can be
faster.
"""

from __future__ import annotations

import asyncio
from collections import deque
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from bench.instant_runner import ordinary_outcome, service
from coordinator.campaigns import store as campaigns
from coordinator.campaigns.plan import Plan, TargetPlan
from coordinator.campaigns.request import CampaignRequest
from coordinator.database.connection import engine as make_engine
from coordinator.dispatch import finishes, queue
from coordinator.dispatch.finishes import Finish
from coordinator.dispatch.leases import Key
from coordinator.dispatch.outcome_writer import BATCH
from coordinator.dispatch.queue import Cursor, HeldJob
from coordinator.dispatch.records import record
from coordinator.dispatch.runner_state_machine import MAX_CLAIM
from coordinator.migration import upgrade
from coordinator.registry import ownership, suites
from coordinator.registry import store as registry
from coordinator.targets.selectors import TargetName

DATABASE = "ceiling"


async def make(dsn: str) -> str:
    """Create a separate database on the same server, so that no coordinator serves its runner."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f"create database {DATABASE}")
    finally:
        await connection.close()
    own = urlunsplit(urlsplit(dsn)._replace(path=f"/{DATABASE}"))
    await upgrade(own)
    return own


async def run(dsn: str, cases: int, runs: int) -> int:
    """Plan, claim and finish a campaign with this many jobs, and return its id."""
    engine = make_engine(dsn)
    # Each statement is a transaction of its own on a connection that stays open, so there are no further round trips.
    alone = engine.execution_options(isolation_level="AUTOCOMMIT")
    try:
        instant_service = service(cases)
        suite = instant_service.offer.catalogue().suites[0]
        async with engine.begin() as connection:
            suite_id = await suites.store_suite(connection, instant_service.info.framework, suite)
            url = f"http://nobody/{instant_service.info.boot_id}"
            runner_id = await registry.store_runner(connection, None, instant_service.info, url=url, secret="")
            await registry.store_offer(connection, runner_id, [suite_id])
            ownership_row = await ownership.own(connection, runner_id, "bench")
            assert ownership_row is not None
            target = TargetName(
                ownership_row.target_id, ownership_row.framework, instant_service.info.version, ownership_row.device
            )
            (offer,) = await campaigns.offers(connection, suite.name, [target])
            case_ids = tuple(case.id for case in offer.cases)
            plan = Plan((TargetPlan(target, suite_id, case_ids, frozenset()),), runs)
            campaign = await campaigns.create(connection, CampaignRequest(suite=suite.name), plan, None)
        batches: asyncio.Queue[list[HeldJob]] = asyncio.Queue(2 * BATCH // MAX_CLAIM)
        outcome = ordinary_outcome("0123456789")
        model = record(Key(0, 0), outcome, framework=ownership_row.framework, device=ownership_row.device)

        async def claim() -> None:
            jobs: list[HeldJob] | None = None
            async with alone.connect() as connection:
                while jobs is None or jobs:
                    jobs = await queue.claim(
                        connection,
                        runner_id=runner_id,
                        boot_id=ownership_row.boot_id,
                        token="bench",
                        target_id=ownership_row.target_id,
                        suites=[suite_id],
                        limit=MAX_CLAIM,
                    )
                    await batches.put(jobs)

        async def finish() -> None:
            n = 0
            waiting: deque[HeldJob] = deque()
            more = True
            async with alone.connect() as connection:
                while more or waiting:
                    while more and len(waiting) < BATCH:
                        jobs = await batches.get()
                        more = bool(jobs)
                        waiting.extend(jobs)
                    batch = [waiting.popleft() for _ in range(min(BATCH, len(waiting)))]
                    n += 2 * len(batch)
                    rows = [model._replace(job_id=job.key.job, attempt=job.key.attempt) for job in batch]
                    if rows:
                        batch_finishes = [Finish(row, runner_id, "bench") for row in rows]
                        await finishes.finish(connection, batch_finishes, [Cursor(runner_id, ownership_row.boot_id, n)])

        async with asyncio.TaskGroup() as group:
            group.create_task(claim())
            group.create_task(finish())
        return campaign
    finally:
        await engine.dispose()


async def vacuum(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()


async def stored_per_second(dsn: str, campaign: int) -> float:
    """The stored jobs per second from the first lease to the last outcome, by the database's clock."""
    connection = await asyncpg.connect(dsn)
    try:
        count, seconds = await connection.fetchrow(
            """
            SELECT count(*), extract(epoch FROM max(o.finished_at) - min(a.leased_at))::float8
              FROM outcomes o JOIN attempts a ON a.job_id = o.job_id WHERE o.campaign_id = $1
            """,
            campaign,
        )
    finally:
        await connection.close()
    return float(count / seconds)
