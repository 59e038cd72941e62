"""The dispatcher of a coordinator owns runners, keeps a session for each, and wakes sessions when there is work.

A coordinator process has one dispatcher. Several coordinators can share one database. Each serves the runners that it
owns, and takes over runners whose owner no longer renews its ownership.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Literal

from sqlalchemy import text

from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.database.notifications import listening
from coordinator.database.outage import DATABASE_AWAY
from coordinator.database.pools import Pools
from coordinator.dispatch.installation import settle
from coordinator.dispatch.outcome_writer import OutcomeWriter
from coordinator.dispatch.queue import CHANNEL
from coordinator.dispatch.reaper import sweep
from coordinator.dispatch.session import RunnerSession
from coordinator.dispatch.waiting_work import choose, waiting
from coordinator.errors import reason_of
from coordinator.process import metrics
from coordinator.process.logs import get_logger
from coordinator.process.supervision import TaskSupervisor, end
from coordinator.registry import ownership

log = get_logger(__name__)

ALLOCATIONS_PER_COLLECTION = 20_000
"""The threshold of the garbage collector. Events and rows are created by the thousand and live briefly, so the default
of 700 is too low."""

SESSION = "session"
"""The name under which the metrics count all sessions."""

Session = tuple[RunnerSession, asyncio.Task[None]]


class Dispatcher:
    """Serves runners: ``run`` serves until it is cancelled. ``announce`` tells every coordinator that something
    changed."""

    def __init__(
        self, pools: Pools, dsn: str, identity: str, supervisor: TaskSupervisor, times: Times = DEFAULT_TIMES
    ) -> None:
        self._times = times
        self._pools = pools
        self._dsn = dsn
        self._identity = identity
        self._supervisor = supervisor
        self._writer = OutcomeWriter(pools.writer, self._on_completed, supervisor.pulse("outcome writer"), times)
        self._sessions: dict[int, Session] = {}
        self._lingering: dict[int, asyncio.Task[None]] = {}
        """Tasks of dropped sessions that have not ended. A new session for such a runner waits, because two sessions
        would read one stream."""
        self._changed = asyncio.Event()
        self._announced = asyncio.Event()
        """Set when work was announced, or when an announcement may have been missed."""
        self._turns = itertools.count()
        self._mark: str | None = None
        """The mark of the installation; None until it is read from the database."""

    async def run(self) -> None:
        # Exclude imported modules from garbage collection: scanning them again and again took a fifth of the time.
        gc.freeze()
        gc.set_threshold(ALLOCATIONS_PER_COLLECTION)
        writer = self._supervisor.start("outcome writer", self._writer.run)
        others = [
            self._supervisor.start("dispatcher", self._follow_registry),
            self._supervisor.start("listener", self._listen),
            self._supervisor.start("waiting work", self._find_work),
            self._supervisor.start("renewer", self._renew),
        ]
        try:
            await asyncio.wait([writer, *others])
        finally:
            # Sessions end before the outcome writer, so that no report comes after its last batch.
            await end(*others)
            await end(*(task for _, task in self._sessions.values()), *self._lingering.values())
            # The writer stores its last reports before it ends. A second cancellation in that time would lose them.
            await end(writer, again_s=2 * self._times.longest_store_retry_s)
            await self._safely(self._disown)

    @property
    def _turn_within_s(self) -> float:
        """The seconds within which each of the dispatcher's loops must complete a turn without an error.

        If the renewals fail for longer, another coordinator may take over the runners.
        """
        return self._times.ownership_s

    async def announce(self, kind: Literal["jobs", "cancel", "runners"]) -> None:
        """Tell every coordinator that there is work, that a campaign was cancelled, or that the fleet changed.

        If this fails, the request does not fail, because the change itself is stored, and other coordinators poll every
        few seconds.
        """
        await self._handle_notice(kind)
        await self._safely(lambda: self._notify(kind))

    async def _notify(self, kind: str) -> None:
        async with self._pools.requests.begin() as connection:
            await connection.execute(
                text("SELECT pg_notify(:channel, :payload)"), {"channel": CHANNEL, "payload": kind}
            )

    async def _listen(self) -> None:
        async with listening(self._dsn, CHANNEL) as notices:
            async for notice in notices:
                await self._handle_notice(notice.payload)

    async def _handle_notice(self, payload: str) -> None:
        """Act on a notice. A notice without a payload means that the connection was lost, and notices may have been
        missed."""
        if payload in ("jobs", ""):
            self._announced.set()
        if payload in ("cancel", ""):
            for session, _ in list(self._sessions.values()):
                await self._safely(session.stop_revoked)
        if payload in ("runners", ""):
            self._changed.set()

    async def _find_work(self) -> None:
        """Wake idle sessions whenever work is announced, and every few seconds."""
        pulse = self._supervisor.pulse("waiting work")
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._times.poll_s):
                    await self._announced.wait()
            # Cleared before the query, so that an announcement during the query causes another query.
            self._announced.clear()
            pulse.due_within(self._turn_within_s)
            if await self._safely(self._offer_work):
                pulse.rest()

    async def _offer_work(self) -> None:
        idle = [(session, session.offers) for session, _ in self._sessions.values() if session.is_idle]
        if not idle:
            return
        targets = {offer.target_id for _, offers in idle for offer in offers}
        async with self._pools.sessions.connect() as connection:
            waiting_work = await waiting(connection, targets, len(idle))
        for session in choose(waiting_work, idle, next(self._turns)):
            session.wake()

    async def _follow_registry(self) -> None:
        """Adjust the sessions whenever the fleet changes, and every few seconds."""
        pulse = self._supervisor.pulse("dispatcher")
        pulse.due_within(self._turn_within_s)
        while True:
            if await self._safely(self._adjust_sessions):
                pulse.due_within(self._turn_within_s)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._times.poll_s):
                    await self._changed.wait()
            self._changed.clear()

    async def _adjust_sessions(self) -> None:
        """Keep a session for each servable runner that this coordinator owns or can own, and end all other sessions."""
        if self._mark is None:
            async with self._pools.ownership.begin() as connection:
                self._mark, note = await settle(connection)
            if note is not None:
                log.warning(note)
        async with self._pools.ownership.begin() as connection:
            servable, elsewhere = await ownership.servable(connection, self._identity, self._times)
            metrics.count_runners(await ownership.count_by_state(connection))
        for runner_id, (session, _) in list(self._sessions.items()):
            if servable.get(runner_id) != session.address:
                await self._drop(runner_id)
        self._lingering = {runner_id: task for runner_id, task in self._lingering.items() if not task.done()}
        ours = [runner_id for runner_id in servable if runner_id in self._sessions or runner_id not in elsewhere]
        for runner_id in ours:
            if runner_id in self._sessions:
                continue
            self._supervisor.expect(_name(runner_id), SESSION, self._turn_within_s)
            if runner_id in self._lingering:
                continue
            async with self._pools.ownership.begin() as connection:
                runner = await ownership.own(connection, runner_id, self._identity, self._times)
            if runner is not None:
                session = RunnerSession(runner, self._pools.sessions, self._writer, self._mark, self._times)
                self._sessions[runner_id] = (session, asyncio.create_task(self._serve(runner_id, session)))
        self._supervisor.retain(SESSION, {_name(runner_id) for runner_id in ours})

    async def _serve(self, runner_id: int, session: RunnerSession) -> None:
        self._supervisor.began(_name(runner_id), SESSION)
        try:
            await session.run()
        except Exception as error:
            # During the pause the session stays in the list, so that its runner stays owned and gets no second one.
            await asyncio.sleep(self._supervisor.note_end(_name(runner_id), error))
        finally:
            if runner_id in self._sessions and self._sessions[runner_id][0] is session:
                del self._sessions[runner_id]
                self._changed.set()

    async def _drop(self, runner_id: int) -> None:
        """End a session within a time limit, because other runners wait to be served."""
        _, task = self._sessions.pop(runner_id)
        if await end(task):
            log.error("a session does not end; continuing without it", runner=runner_id)
            self._lingering[runner_id] = task

    async def _renew(self) -> None:
        """Every few seconds, renew ownership and leases, and search for abandoned leases and finished campaigns."""
        pulse = self._supervisor.pulse("renewer")
        pulse.due_within(self._turn_within_s)
        while True:
            await asyncio.sleep(self._times.renew_s)
            if await self._safely(self._renew_once):
                pulse.due_within(self._turn_within_s)
            await self._safely(self._sweep)

    async def _renew_once(self) -> None:
        if not self._sessions:
            return
        # Sessions that start during the statement below are ours as well; compare with these only.
        before = dict(self._sessions)
        async with self._pools.ownership.begin() as connection:
            ours = await ownership.renew(connection, list(before), self._identity, self._times)
        # Another coordinator may serve these runners now, and two sessions would read one stream of events.
        for runner_id in before.keys() - ours:
            if self._sessions.get(runner_id) != before[runner_id]:
                continue
            log.warning("the runner is served by another coordinator now", runner=runner_id)
            await self._drop(runner_id)

    async def _sweep(self) -> None:
        async with self._pools.sessions.begin() as connection:
            result = await sweep(connection, self._times)
        if result.jobs:
            log.warning("jobs of runners that no coordinator serves are queued again", jobs=result.jobs)
            self._announced.set()
        if result.campaigns:
            self._on_completed(result.campaigns)

    async def _disown(self) -> None:
        async with self._pools.ownership.begin() as connection:
            await ownership.disown_all(connection, self._identity)

    def _on_completed(self, campaigns: Sequence[int]) -> None:
        for campaign in campaigns:
            log.info("the campaign is complete", campaign=campaign)

    async def _safely(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Do the work and return whether it succeeded. An outage of the database does not end a loop."""
        try:
            await work()
        except DATABASE_AWAY as error:
            log.warning("the database is away", reason=reason_of(error))
            return False
        return True


def _name(runner_id: int) -> str:
    return f"session of runner {runner_id}"
