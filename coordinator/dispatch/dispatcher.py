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

from sqlalchemy import text

from coordinator import metrics
from coordinator.database.connection import listening
from coordinator.database.outage import DATABASE_AWAY, reason_of
from coordinator.database.pools import Pools
from coordinator.dispatch.outcome_writer import LONGEST_RETRY_S, Finisher
from coordinator.dispatch.queue import LEASE_S
from coordinator.dispatch.reaper import sweep
from coordinator.dispatch.session import RunnerLink
from coordinator.fleet import ownership
from coordinator.supervision import Supervisor, end

log = logging.getLogger(__name__)

CHANNEL = "portolan"
SLOW_POLL_S = 2.0
"""Work is announced by NOTIFY; this only catches what an announcement missed."""
RENEW_EVERY_S = 5.0
TURN_WITHIN_S = float(ownership.OWNERSHIP_S)
"""A loop that has not succeeded for so long has lost the runners to whoever asks for them."""
ALLOCATIONS_PER_COLLECTION = 20_000
"""Events, rows and messages come by the thousand and are gone at once; Python's 700 is for others."""

LINK = "link"
"""What the metrics call all links together."""

Link = tuple[RunnerLink, asyncio.Task[None]]


class Dispatcher:
    """``run`` serves until cancelled. ``announce`` tells every coordinator that something changed."""

    def __init__(self, pools: Pools, dsn: str, identity: str, supervisor: Supervisor) -> None:
        self._pools = pools
        self._dsn = dsn
        self._identity = identity
        self._supervisor = supervisor
        self._finisher = Finisher(pools.finisher, self._on_completed, supervisor.pulse("finisher"))
        self._links: dict[int, Link] = {}
        self._lingering: dict[int, asyncio.Task[None]] = {}
        """Tasks of links that were dropped and have not ended: two links would read one stream."""
        self._changed = asyncio.Event()

    async def run(self) -> None:
        # What is imported by now stays: to walk it again and again took a fifth of our time.
        gc.freeze()
        gc.set_threshold(ALLOCATIONS_PER_COLLECTION)
        finisher = self._supervisor.start("finisher", self._finisher.run)
        others = [
            self._supervisor.start("dispatcher", self._follow_fleet),
            self._supervisor.start("listener", self._listen),
            self._supervisor.start("renewer", self._renew),
        ]
        try:
            await asyncio.wait([finisher, *others])
        finally:
            # Whoever makes links first, then the links, so that nothing is put behind the finisher's last batch.
            await end(*others)
            await end(*(task for _, task in self._links.values()), *self._lingering.values())
            await end(finisher, again_s=2 * LONGEST_RETRY_S)
            await self._safely(self._disown)

    async def announce(self, kind: Literal["jobs", "cancel", "runners"]) -> None:
        """Tell every coordinator: there is work, a campaign was cancelled, or the fleet changed.

        What is announced is stored already, so that a failure to tell the others fails no request:
        they look for themselves every few seconds.
        """
        await self._hear(kind)
        await self._safely(lambda: self._notify(kind))

    async def _notify(self, kind: str) -> None:
        async with self._pools.requests.begin() as connection:
            await connection.execute(
                text("SELECT pg_notify(:channel, :payload)"), {"channel": CHANNEL, "payload": kind}
            )

    async def _listen(self) -> None:
        async with listening(self._dsn, CHANNEL) as notices:
            async for notice in notices:
                await self._hear(notice.payload)

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

    async def _follow_fleet(self) -> None:
        """Adjust the links whenever the fleet changes, and every few seconds."""
        pulse = self._supervisor.pulse("dispatcher")
        pulse.due_within(TURN_WITHIN_S)
        while True:
            if await self._safely(self._adjust_links):
                pulse.due_within(TURN_WITHIN_S)
            try:
                async with asyncio.timeout(SLOW_POLL_S):
                    await self._changed.wait()
            except TimeoutError:
                self._wake_all()
            self._changed.clear()

    async def _adjust_links(self) -> None:
        """A link for every runner that is servable and ours; none for the others."""
        async with self._pools.ownership.begin() as connection:
            servable = await ownership.servable(connection)
            metrics.count_runners(await ownership.count_by_state(connection))
        for runner_id, (link, _) in list(self._links.items()):
            if servable.get(runner_id) != link.address:
                await self._drop(runner_id)
        self._lingering = {runner_id: task for runner_id, task in self._lingering.items() if not task.done()}
        for runner_id in servable:
            if runner_id in self._links or runner_id in self._lingering:
                continue
            async with self._pools.ownership.begin() as connection:
                owned = await ownership.own(connection, runner_id, self._identity)
            if owned is not None:
                link = RunnerLink(owned, self._pools.links, self._finisher)
                self._links[runner_id] = (link, asyncio.create_task(self._serve(runner_id, link)))
        self._supervisor.retain(LINK, {_name(runner_id) for runner_id in self._links})

    async def _serve(self, runner_id: int, link: RunnerLink) -> None:
        self._supervisor.began(_name(runner_id), LINK)
        try:
            await link.run()
        except Exception as error:
            # In its pause it stays among the links, so that it remains ours and gets no second link.
            await asyncio.sleep(self._supervisor.ended(_name(runner_id), error))
        finally:
            if runner_id in self._links and self._links[runner_id][0] is link:
                del self._links[runner_id]
                self._changed.set()

    async def _drop(self, runner_id: int) -> None:
        """End a link, within a bound: other runners are waiting to be served."""
        _, task = self._links.pop(runner_id)
        if await end(task):
            log.error("the link of runner %d does not end, going on without it", runner_id)
            self._lingering[runner_id] = task

    async def _renew(self) -> None:
        """Ownership and leases every few seconds; with them, a look for what no event tells."""
        pulse = self._supervisor.pulse("renewer")
        pulse.due_within(TURN_WITHIN_S)
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            if await self._safely(self._renew_once):
                pulse.due_within(TURN_WITHIN_S)
            await self._safely(self._sweep)

    async def _renew_once(self) -> None:
        if not self._links:
            return
        async with self._pools.ownership.begin() as connection:
            ours = await ownership.renew(connection, list(self._links), self._identity, LEASE_S)
        for runner_id in [each for each in self._links if each not in ours]:
            log.warning("runner %d is served by another coordinator now", runner_id)
            await self._drop(runner_id)

    async def _sweep(self) -> None:
        async with self._pools.links.begin() as connection:
            swept = await sweep(connection)
        if swept.jobs:
            log.warning("%d jobs of runners that nobody serves are queued again", swept.jobs)
            self._wake_all()
        if swept.campaigns:
            self._on_completed(swept.campaigns)

    async def _disown(self) -> None:
        async with self._pools.ownership.begin() as connection:
            await ownership.disown_all(connection, self._identity)

    def _on_completed(self, campaigns: Sequence[int]) -> None:
        log.info("campaigns complete: %s", campaigns)

    async def _safely(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Whether it was done; the database may be away for a while, and that ends no loop."""
        try:
            await work()
        except DATABASE_AWAY as error:
            log.warning("the database is away: %s", reason_of(error))
            return False
        return True


def _name(runner_id: int) -> str:
    return f"link of runner {runner_id}"
