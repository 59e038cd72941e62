"""The outcome writer stores the reports of runners in batches. The statement of a batch also checks the leases and
moves the cursors.

A coordinator has one outcome writer. With two, a cursor could pass outcomes that are not committed yet, and a crash
would lose those outcomes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from structlog.contextvars import bound_contextvars

from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.database.outage import DATABASE_AWAY, is_conflict, is_unstorable
from coordinator.database.values import to_json
from coordinator.dispatch import finishes, queue
from coordinator.dispatch.finishes import Finish, FinishedJob, LateFinish
from coordinator.dispatch.leases import Key, log_fields
from coordinator.dispatch.queue import Cursor
from coordinator.dispatch.records import UNSTORABLE, unstorable
from coordinator.errors import reason_of
from coordinator.process import metrics
from coordinator.process.logs import get_logger
from coordinator.process.supervision import Pulse
from protocol.enums import Ending
from protocol.outcomes import Outcome

log = get_logger(__name__)

ReportedAttempt = tuple[int, Key]
"""A runner and the attempt that it reports. Another runner may report the same attempt, although it never had it."""

BATCH = 400
BACKLOG = 4 * BATCH
"""The maximum number of events that wait to be stored. Streams pause above it."""


class RunnerReport(NamedTuple):
    """A report to store: a start, a finish with its row, or an event that only moves the cursor."""

    cursor: Cursor
    key: Key | None
    row: FinishedJob | None
    outcome: Outcome | None
    """The outcome as the runner reported it. If it comes too late to be accepted, it is stored on the attempt."""
    stored: Callable[[Cursor], None]
    """A function that is called when the report is committed."""
    late: bool = False
    """Whether the attempt had already ended. The outcome is then stored on the attempt as evidence and never counts."""


class OutcomeWriter:
    """Queues reports with ``write`` and stores them with ``run``.

    When ``run`` is cancelled, it first stores the queued reports. ``run`` can be started again after a failure, and
    then stores the reports that are still queued.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        on_completed: Callable[[Sequence[int]], None],
        pulse: Pulse | None = None,
        times: Times = DEFAULT_TIMES,
    ) -> None:
        self._engine = engine
        self._times = times
        self._pulse = pulse or Pulse()
        self._completed = on_completed
        self._connection: AsyncConnection | None = None
        self._reports: deque[RunnerReport] = deque()
        self._storing: Sequence[RunnerReport] = ()
        self._taken_on: dict[int, Cursor] = {}
        """The last event of each runner that was accepted into the queue."""
        self._began_at = float("-inf")
        """The time at which the last batch started, on the event loop's clock."""
        self._arrived = asyncio.Event()
        self._hurried = False
        """Whether a queued report must be stored without waiting for others."""
        self._due = asyncio.Event()
        """Set while the reports must be stored immediately, because they fill a batch or are urgent."""
        self._taken = asyncio.Event()

    async def write(self, reports: Sequence[RunnerReport], *, can_wait: bool = False) -> None:
        """Queue reports, and return when more reports can be queued.

        A report that a stream repeats after a break is queued only once. Reports that can wait are stored together with
        the reports that follow within ``Times.store_apart_s`` of the last batch.
        """
        self._reports.extend([report for report in reports if self._is_new(report.cursor)])
        self._hurried |= bool(reports) and not can_wait
        self._note_due()
        self._arrived.set()
        while len(self._reports) > BACKLOG:
            self._taken.clear()
            await self._taken.wait()

    def resume(self, cursor: Cursor) -> None:
        """Prepare for a stream that is read again from the cursor in the database.

        If nothing waits to be stored, and the database has fewer events than were stored, the database was restored to
        an earlier state. Events that the stream repeats then count as new.
        """
        waiting = any(report.cursor.runner_id == cursor.runner_id for report in (*self._storing, *self._reports))
        if not waiting:
            self._taken_on[cursor.runner_id] = cursor

    def _is_new(self, cursor: Cursor) -> bool:
        # There is no number to compare for an outcome that the coordinator made, or for a line whose number cannot be
        # read.
        if cursor.n == 0:
            return True
        latest = self._taken_on.get(cursor.runner_id)
        if latest is not None and latest.boot_id == cursor.boot_id and cursor.n <= latest.n:
            return False
        self._taken_on[cursor.runner_id] = cursor
        return True

    async def run(self) -> None:
        try:
            while True:
                await self._gather()
                self._pulse.due_within(self._times.stuck_s)
                await self._store_next(BATCH)
                self._pulse.rest()
        except asyncio.CancelledError:
            # The rest is stored before the stop, but an outage of the database must not delay the stop for ever.
            if self._reports:
                await asyncio.wait_for(self._store_next(len(self._reports)), self._times.longest_store_retry_s)
            raise
        finally:
            await self._disconnect()

    async def _store_next(self, limit: int) -> None:
        """Store a batch. If this fails, its reports are put back at the head of the queue for the next start."""
        self._storing = self._take(limit)
        try:
            await self._store(self._storing)
        except BaseException:
            self._reports.extendleft(reversed(self._storing))
            raise
        finally:
            self._storing = ()

    async def _gather(self) -> None:
        """Wait for the first report. Then wait for more reports until a batch is full, or until enough time has passed
        since the last batch."""
        while not self._reports:
            self._arrived.clear()
            await self._arrived.wait()
        loop = asyncio.get_running_loop()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._began_at + self._times.store_apart_s):
                await self._due.wait()
        self._began_at = loop.time()

    def _take(self, limit: int) -> list[RunnerReport]:
        batch = [self._reports.popleft() for _ in range(min(limit, len(self._reports)))]
        self._hurried &= bool(self._reports)
        self._note_due()
        self._taken.set()
        return batch

    def _note_due(self) -> None:
        if self._hurried or len(self._reports) >= BATCH:
            self._due.set()
        else:
            self._due.clear()

    async def _store(self, batch: Sequence[RunnerReport]) -> None:
        """Store the batch. Retries until this succeeds, because a database outage must not drop reports."""
        failures = 0
        while True:
            try:
                completed_ids = await self._store_once(batch)
                break
            except DATABASE_AWAY as error:
                metrics.store_failures.inc()
                if is_unstorable(error):
                    await self._store_apart(batch, error)
                    return
                failures += 1
                wait_s = self._times.store_retry.pause_s(failures)
                warn = log.debug if is_conflict(error) else log.warning
                warn("storing reports failed", reports=len(batch), again_in_s=round(wait_s, 2), reason=reason_of(error))
                await asyncio.sleep(wait_s)
        rows = [report.row for report in batch if report.row is not None]
        metrics.jobs_stored.inc(len(rows))
        metrics.unstorable_reports.inc(sum(row.rule == UNSTORABLE for row in rows))
        for report in _furthest(batch).values():
            report.stored(report.cursor)
        if completed_ids:
            self._completed(completed_ids)

    async def _store_apart(self, batch: Sequence[RunnerReport], error: Exception) -> None:
        """Store a batch report by report, because one report that PostgreSQL rejects must not block the others or be
        retried forever."""
        if len(batch) > 1:
            middle = len(batch) // 2
            await self._store(batch[:middle])
            await self._store(batch[middle:])
            return
        (report,) = batch
        with bound_contextvars(runner=report.cursor.runner_id, boot=report.cursor.boot_id, **log_fields(report.key)):
            if report.key is None or report.row is None or report.row.rule == UNSTORABLE:
                log.error("an event is skipped", reason=reason_of(error))
                return
            log.error("the outcome cannot be stored as it is", reason=reason_of(error))
            row = unstorable(report.key, f"the runner's report cannot be stored: {error.__cause__ or error}")
            await self._store([report._replace(row=row)])

    async def _store_once(self, batch: Sequence[RunnerReport]) -> list[int]:
        cursors = [report.cursor for report in _furthest(batch).values()]
        first, second = _first_finishes(batch)
        attempt_finishes = [finish for finish, _ in first.values()]
        # A finish sets the time of the start as well.
        ending = {key.job for _, key in first}
        starts = [
            (report.cursor.runner_id, report.key)
            for report in batch
            if report.row is None and not report.late and report.key is not None and report.key.job not in ending
        ]
        completed_ids: list[int] = []
        async with self._transaction() as connection:
            if starts:
                await queue.start(connection, starts)
            if attempt_finishes:
                accepted_keys, completed_ids = await finishes.finish(connection, attempt_finishes, cursors)
            else:
                accepted_keys = set()
                await queue.move_cursors(connection, cursors)
            not_accepted = [finish for finish in attempt_finishes if finish.key not in accepted_keys]
            if not_accepted:
                # A cancelled report is not a result: the attempt was given up and will be repeated.
                results = [finish for finish in not_accepted if finish.row.ending != Ending.cancelled]
                reclaimed_keys = await finishes.reclaim(connection, results) if results else set()
                again = [finish for finish in not_accepted if finish.key in reclaimed_keys]
                if again:
                    completed_ids = completed_ids + (await finishes.finish(connection, again))[1]
                second = [
                    *second,
                    *(
                        first[finish.runner_id, finish.key][1]
                        for finish in not_accepted
                        if finish.key not in reclaimed_keys
                    ),
                ]
            late = [_late(report) for report in second if report.outcome is not None]
            if late:
                await finishes.keep_late(connection, late)
        return completed_ids

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        """A transaction on a dedicated connection. The connection pool would ping the server before every batch."""
        if self._connection is None:
            self._connection = await self._engine.connect()
        try:
            async with self._connection.begin():
                yield self._connection
        # A cancellation, too, can interrupt a statement and leave the connection unusable.
        except BaseException:
            await self._disconnect()
            raise

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


def _first_finishes(
    batch: Sequence[RunnerReport],
) -> tuple[dict[ReportedAttempt, tuple[Finish, RunnerReport]], list[RunnerReport]]:
    """The first finish of each attempt by each runner, and the reports that cannot count because they are late or
    repeated.

    A report that follows a late report of the same attempt counts as repeated, even if the stream was reopened in
    between and its reader takes it for the first.
    """
    first: dict[ReportedAttempt, tuple[Finish, RunnerReport]] = {}
    second: list[RunnerReport] = []
    attempts: set[ReportedAttempt] = set()
    for report in batch:
        if report.key is None or (report.row is None and not report.late):
            continue
        attempt = (report.cursor.runner_id, report.key)
        if report.late or attempt in attempts:
            second.append(report)
        elif report.row is not None:
            first[attempt] = Finish(report.row, report.cursor.runner_id, report.key.token), report
        attempts.add(attempt)
    return first, second


def _late(report: RunnerReport) -> LateFinish:
    assert report.key is not None
    assert report.outcome is not None
    return LateFinish(report.key, report.cursor.runner_id, to_json(report.outcome.model_dump(mode="json")))


def _furthest(batch: Sequence[RunnerReport]) -> dict[int, RunnerReport]:
    """For each runner, the report with the highest cursor. Reports that the coordinator made itself have no cursor."""
    furthest: dict[int, RunnerReport] = {}
    for report in batch:
        previous = furthest.get(report.cursor.runner_id)
        if previous is None or previous.cursor.boot_id != report.cursor.boot_id or previous.cursor.n <= report.cursor.n:
            furthest[report.cursor.runner_id] = report
    return furthest
