"""The connection pools of one coordinator. Each kind of use has its own pool, so that no use exhausts another's
connections.

So dispatch continues under any number of requests, renewals of ownership do not wait for runners, and the outcome
writer never waits for a connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import ExceptionContext, event
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.configuration.settings import STATEMENT_TIMEOUT_S
from coordinator.database.connection import engine
from coordinator.database.outage import has_no_room
from coordinator.errors import reason_of

REQUESTS = 10
SESSIONS = 8
OWNERSHIP = 2
"""The number of connections: one for the loop that follows the fleet, one for renewals and sweeps."""
WRITER = 1
DISPATCH_STATEMENT_TIMEOUT_S = 30.0
"""The time limit of dispatch statements. Dispatch statements take milliseconds. A statement that takes this long waits
for a lock or for a dead server."""
OWNERSHIP_STATEMENT_TIMEOUT_S = 10.0
"""The time limit of ownership statements. Ownership ends after 30 s without renewal, which must leave time for a second
attempt."""
DISPATCH_POOL_WAIT_S = 30.0


@dataclass(frozen=True)
class Pools:
    requests: AsyncEngine
    sessions: AsyncEngine
    ownership: AsyncEngine
    writer: AsyncEngine

    @property
    def all(self) -> tuple[AsyncEngine, ...]:
        return self.requests, self.sessions, self.ownership, self.writer

    async def dispose(self) -> None:
        await asyncio.gather(*(pool.dispose() for pool in self.all))


def tell_of_no_room(pools: Pools, tell: Callable[[str], None]) -> None:
    """Call ``tell`` with the reason whenever a statement fails because the database's disk is full."""

    def look(context: ExceptionContext) -> None:
        if has_no_room(context.original_exception):
            tell(reason_of(context.original_exception))

    for pool in pools.all:
        event.listen(pool.sync_engine, "handle_error", look)


def make_pools(dsn: str, statement_timeout_s: float = STATEMENT_TIMEOUT_S) -> Pools:
    def pool(size: int, name: str, longest_s: float) -> AsyncEngine:
        return engine(
            dsn,
            pool_size=size,
            application_name=name,
            statement_timeout_s=min(statement_timeout_s, longest_s),
            pool_wait_s=DISPATCH_POOL_WAIT_S,
        )

    return Pools(
        requests=engine(dsn, pool_size=REQUESTS, statement_timeout_s=statement_timeout_s),
        sessions=pool(SESSIONS, "portolan dispatch", DISPATCH_STATEMENT_TIMEOUT_S),
        ownership=pool(OWNERSHIP, "portolan ownership", OWNERSHIP_STATEMENT_TIMEOUT_S),
        writer=pool(WRITER, "portolan outcome writer", DISPATCH_STATEMENT_TIMEOUT_S),
    )
