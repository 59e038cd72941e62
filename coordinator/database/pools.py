"""The connections of one coordinator, apart by who uses them: none can take another's.

Requests come as many at once as somebody sends, and dispatch must go on beside them; what renews
ownership must not wait for runners, and the outcome writer for nobody.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.database.connection import engine
from coordinator.settings import STATEMENT_TIMEOUT_S

REQUESTS = 10
SESSIONS = 8
OWNERSHIP = 2
"""One for the loop that follows the fleet, one for renewals and sweeps."""
WRITER = 1
DISPATCH_STATEMENT_TIMEOUT_S = 30.0
"""Statements of dispatch take milliseconds. One that takes this long waits for a lock, or for nobody."""
OWNERSHIP_STATEMENT_TIMEOUT_S = 10.0
"""Ownership that is not renewed ends after 30 s: there must be time for a second try."""
DISPATCH_POOL_WAIT_S = 30.0


@dataclass(frozen=True)
class Pools:
    requests: AsyncEngine
    sessions: AsyncEngine
    ownership: AsyncEngine
    writer: AsyncEngine

    async def dispose(self) -> None:
        pools = (self.requests, self.sessions, self.ownership, self.writer)
        await asyncio.gather(*(pool.dispose() for pool in pools))


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
