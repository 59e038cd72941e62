"""All runners, served: owns them, keeps one link per runner, wakes links when there is work.

One per coordinator process. Several coordinators share one database: each serves the
runners that it owns, and takes over those whose owner has gone.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import asyncpg
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.database.connection import listening
from coordinator.dispatch.finisher import Finisher
from coordinator.dispatch.link import RunnerLink
from coordinator.dispatch.queue import LEASE_S
from coordinator.dispatch.sweeps import sweep
from coordinator.fleet import ownership

log = logging.getLogger(__name__)

CHANNEL = "portolan"
SLOW_POLL_S = 2.0
"""Work is announced by NOTIFY; this only catches what an announcement missed."""
RENEW_EVERY_S = 5.0
ALLOCATIONS_PER_COLLECTION = 20_000
"""Events, rows and messages come by the thousand and are gone at once; Python's 700 is for others."""


class Dispatcher:
    """``run`` serves until cancelled. ``announce`` tells every coordinator that something changed."""

    def __init__(self, engine: AsyncEngine, dsn: str, identity: str) -> None:
        self._engine = engine
        self._dsn = dsn
        self._identity = identity
        self._finisher = Finisher(engine, self._on_completed)
        self._links: dict[int, tuple[RunnerLink, asyncio.Task[None]]] = {}
        self._changed = asyncio.Event()

    async def run(self) -> None:
        # What is imported by now stays: to walk it again and again took a fifth of our time.
        gc.freeze()
        gc.set_threshold(ALLOCATIONS_PER_COLLECTION)
        finisher = asyncio.create_task(self._finisher.run())
        listener = asyncio.create_task(self._listen())
        renewer = asyncio.create_task(self._renew())
        try:
            while True:
                await self._safely(self._adjust_links)
                try:
                    async with asyncio.timeout(SLOW_POLL_S):
                        await self._changed.wait()
                except TimeoutError:
                    self._wake_all()
                self._changed.clear()
        finally:
            links = [task for _, task in self._links.values()]
            # Links first, so that nothing is put behind the finisher's last batch.
            for tasks in (links, [listener, renewer], [finisher]):
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            await self._safely(self._disown)

    async def announce(self, kind: Literal["jobs", "cancel", "runners"]) -> None:
        """Tell every coordinator: there is work, a campaign was cancelled, or the fleet changed."""
        await self._hear(kind)
        async with self._engine.begin() as connection:
            await connection.execute(
                text("SELECT pg_notify(:channel, :payload)"), {"channel": CHANNEL, "payload": kind}
            )

    async def _listen(self) -> None:
        while True:
            try:
                async with listening(self._dsn, CHANNEL) as notices:
                    async for notice in notices:
                        await self._hear(notice.payload)
            except (asyncpg.PostgresError, OSError) as error:
                log.warning("cannot listen for notifications, trying again: %s", error)
                await asyncio.sleep(SLOW_POLL_S)

    async def _hear(self, payload: str) -> None:
        """Without a payload the connection was broken for a while: anything may have been said."""
        if payload in ("jobs", ""):
            self._wake_all()
        if payload in ("cancel", ""):
            for link, _ in list(self._links.values()):
                await self._safely(link.stop_cancelled)
        if payload in ("runners", ""):
            self._changed.set()

    def _wake_all(self) -> None:
        for link, _ in self._links.values():
            link.wake()

    async def _adjust_links(self) -> None:
        """A link for every runner that is servable and ours; none for the others."""
        async with self._engine.begin() as connection:
            servable = await ownership.servable(connection)
        for runner_id, (link, _) in list(self._links.items()):
            if servable.get(runner_id) != link.address:
                await self._drop(runner_id)
        for runner_id in servable:
            if runner_id in self._links:
                continue
            async with self._engine.begin() as connection:
                owned = await ownership.own(connection, runner_id, self._identity)
            if owned is not None:
                link = RunnerLink(owned, self._engine, self._finisher)
                self._links[runner_id] = (link, asyncio.create_task(self._serve(runner_id, link)))

    async def _serve(self, runner_id: int, link: RunnerLink) -> None:
        try:
            await link.run()
        except (DBAPIError, OSError) as error:
            log.warning("runner %d: the database is away, serving it again soon: %s", runner_id, error)
        except Exception:
            log.exception("runner %d: its link broke, serving it again soon", runner_id)
        finally:
            if runner_id in self._links and self._links[runner_id][0] is link:
                del self._links[runner_id]

    async def _drop(self, runner_id: int) -> None:
        _, task = self._links.pop(runner_id)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _renew(self) -> None:
        """Ownership and leases every few seconds; with them, a look for what no event tells."""
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            await self._safely(self._renew_once)
            await self._safely(self._sweep)

    async def _renew_once(self) -> None:
        if not self._links:
            return
        async with self._engine.begin() as connection:
            ours = await ownership.renew(connection, list(self._links), self._identity, LEASE_S)
        for runner_id in [each for each in self._links if each not in ours]:
            log.warning("runner %d is served by another coordinator now", runner_id)
            await self._drop(runner_id)

    async def _sweep(self) -> None:
        async with self._engine.begin() as connection:
            swept = await sweep(connection)
        if swept.jobs:
            log.warning("%d jobs of runners that nobody serves are queued again", swept.jobs)
            self._wake_all()
        if swept.campaigns:
            self._on_completed(swept.campaigns)

    async def _disown(self) -> None:
        async with self._engine.begin() as connection:
            await ownership.disown_all(connection, self._identity)

    def _on_completed(self, campaigns: Sequence[int]) -> None:
        log.info("campaigns complete: %s", campaigns)

    async def _safely(self, work: Callable[[], Awaitable[None]]) -> None:
        """The database may be away for a while; that ends no loop."""
        try:
            await work()
        except (DBAPIError, OSError) as error:
            log.warning("the database is away: %s", error)
