"""The one place that stores what runners report: batched, fenced, the cursor in the same statement.

There is exactly one finisher per coordinator. Two could let a stream's cursor pass outcomes
that are not yet committed, and a crash between them would lose those.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator import metrics
from coordinator.database.connection import is_conflict, to_json
from coordinator.database.outage import DATABASE_AWAY, reason_of
from coordinator.dispatch import queue
from coordinator.dispatch.machine import Key
from coordinator.dispatch.queue import Cursor, FinishedJob
from coordinator.outcomes.records import record_without_report
from coordinator.supervision import Pulse
from protocol.outcomes import Outcome
from protocol.words import Cause, Ending, Verdict

log = logging.getLogger(__name__)

BATCH = 400
LINGER_S = 0.010
BACKLOG = 4 * BATCH
"""Events waiting to be stored; past it, streams are not read on."""
LONGEST_RETRY_S = 5.0
STUCK_AFTER_S = 30.0
"""A batch is stored in milliseconds; one that takes this long is a fault that somebody should see."""
UNSTORABLE = "unstorable"


class Report(NamedTuple):
    """One event of one runner, ready to be stored: a start, or a finish with its row."""

    cursor: Cursor
    key: Key
    row: FinishedJob | None
    outcome: Outcome | None
    """The runner's own words, kept if they come too late to be accepted."""
    stored: Callable[[Cursor], None]
    """Called once the report is committed."""


class Finisher:
    """``put`` reports; ``run`` stores them until cancelled, and drains on the way out.

    ``run`` can be started again after a failure: what it had taken and not stored is kept.
    """

    def __init__(
        self, engine: AsyncEngine, completed: Callable[[Sequence[int]], None], pulse: Pulse | None = None
    ) -> None:
        self._engine = engine
        self._pulse = pulse or Pulse()
        self._completed = completed
        self._connection: AsyncConnection | None = None
        self._reports: deque[Report] = deque()
        self._arrived = asyncio.Event()
        self._taken = asyncio.Event()

    async def put(self, reports: Sequence[Report]) -> None:
        """Take these on; returns when there is room for more."""
        self._reports.extend(reports)
        self._arrived.set()
        while len(self._reports) > BACKLOG:
            self._taken.clear()
            await self._taken.wait()

    async def run(self) -> None:
        try:
            while True:
                await self._gather()
                self._pulse.due_within(STUCK_AFTER_S)
                await self._store_next(BATCH)
                self._pulse.rest()
        except asyncio.CancelledError:
            if self._reports:
                await asyncio.wait_for(self._store_next(len(self._reports)), LONGEST_RETRY_S)
            raise
        finally:
            await self._disconnect()

    async def _store_next(self, limit: int) -> None:
        batch = self._take(limit)
        try:
            await self._store(batch)
        except BaseException:
            self._reports.extendleft(reversed(batch))
            raise

    async def _gather(self) -> None:
        """Wait for the first report, then until there are enough, 10 ms at most."""
        while not self._reports:
            self._arrived.clear()
            await self._arrived.wait()
        try:
            async with asyncio.timeout(LINGER_S):
                while len(self._reports) < BATCH:
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            return

    def _take(self, limit: int) -> list[Report]:
        taken = [self._reports.popleft() for _ in range(min(limit, len(self._reports)))]
        self._taken.set()
        return taken

    async def _store(self, batch: Sequence[Report]) -> None:
        """Store until it is stored: nothing is dropped because the database is away for a while."""
        wait_s = 0.05
        while True:
            try:
                completed = await self._store_once(batch)
                break
            except DATABASE_AWAY as error:
                metrics.store_failures.inc()
                if _is_refused(error):
                    await self._store_apart(batch, error)
                    return
                level = logging.DEBUG if is_conflict(error) else logging.WARNING
                log.log(
                    level, "storing %d reports failed, trying again in %.2f s: %s", len(batch), wait_s, reason_of(error)
                )
                await asyncio.sleep(wait_s)
                wait_s = min(wait_s * 2, LONGEST_RETRY_S)
        metrics.jobs_stored.inc(sum(report.row is not None for report in batch))
        for report in _furthest(batch).values():
            report.stored(report.cursor)
        if completed:
            self._completed(completed)

    async def _store_apart(self, batch: Sequence[Report], error: Exception) -> None:
        """One report that PostgreSQL refuses must not hold up the others, nor be tried for ever."""
        if len(batch) > 1:
            middle = len(batch) // 2
            await self._store(batch[:middle])
            await self._store(batch[middle:])
            return
        (report,) = batch
        metrics.unstorable_reports.inc()
        log.error("the outcome of job %d cannot be stored as it is: %s", report.key.job, error)
        if report.row is None or report.row.rule == UNSTORABLE:
            raise error
        told = f"the runner's report cannot be stored: {error.__cause__ or error}"
        row = record_without_report(
            report.key, Verdict.incomplete, Ending.harness_failed, Cause.infrastructure, UNSTORABLE, told
        )
        await self._store([report._replace(row=row)])

    async def _store_once(self, batch: Sequence[Report]) -> list[int]:
        cursors = [report.cursor for report in _furthest(batch).values()]
        finished = {report.key: report for report in batch if report.row is not None}
        begun = [report.key for report in batch if report.row is None and report.key not in finished]
        completed: list[int] = []
        async with self._transaction() as connection:
            if begun:
                await queue.start(connection, begun)
            if not finished:
                await queue.move_cursors(connection, cursors)
                return completed
            rows = [report.row for report in finished.values() if report.row is not None]
            accepted, completed = await queue.finish(connection, rows, cursors)
            late = [
                (key, to_json(report.outcome.model_dump(mode="json")))
                for key, report in finished.items()
                if key.job not in accepted and report.outcome is not None
            ]
            if late:
                await queue.keep_late(connection, late)
        return completed

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        """On a connection that is kept: the pool would ask the server for every batch whether it is there."""
        if self._connection is None:
            self._connection = await self._engine.connect()
        try:
            async with self._connection.begin():
                yield self._connection
        except BaseException:
            await self._disconnect()
            raise

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


def _furthest(batch: Sequence[Report]) -> dict[int, Report]:
    """By runner, the report that says how far it has been read; our own reports say nothing of that."""
    furthest: dict[int, Report] = {}
    for report in batch:
        known = furthest.get(report.cursor.runner_id)
        if known is None or known.cursor.boot_id != report.cursor.boot_id or known.cursor.n <= report.cursor.n:
            furthest[report.cursor.runner_id] = report
    return furthest


def _is_refused(error: BaseException) -> bool:
    """PostgreSQL takes these values at no time: data exceptions and broken constraints."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    return state.startswith(("22", "23"))
