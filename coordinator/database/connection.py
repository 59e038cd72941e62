"""Connections: the engine, and transactions that are retried after a conflict.

DSNs are plain (``postgresql://…``) everywhere. asyncpg itself parses them, so that parameters that work for ``psql``
(``?sslmode=require``) work here too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, ConnectionPoolEntry
from sqlalchemy.util import await_only

from coordinator.configuration.settings import STATEMENT_TIMEOUT_S
from coordinator.database import wire
from coordinator.database.outage import DATABASE_AWAY, is_conflict
from coordinator.database.times import DEFAULT_DATABASE_TIMES, DatabaseTimes
from coordinator.database.values import to_json
from coordinator.errors import DatabaseError, reason_of

T = TypeVar("T")

APPLICATION_NAME = "portolan"
LONG_STATEMENT_S = 600.0
"""The time limit of statements that read or write a whole campaign, and of statements that wait for them."""
POOL_WAIT_S = 30.0
"""The seconds that a request waits for a connection while all connections are in use."""
MIGRATION_TIMEOUT_S = 300.0
SCHEMES = ("postgresql", "postgres")
ATTEMPTS = 5
"""The maximum number of attempts of a transaction that conflicts with others. Each failed attempt takes about a
second."""


class _Pool(AsyncAdaptedQueuePool):
    """A pool that closes its idle connections concurrently.

    SQLAlchemy's own pool closes idle connections one after the other. If the network has dropped them, each close waits
    for a server that does not respond, and a coordinator would need minutes to stop.
    """

    def dispose(self) -> None:
        idle = [self._do_get() for _ in range(self.checkedin())]
        await_only(_close_all([entry.driver_connection for entry in idle]))
        for entry in idle:
            self._do_return_conn(entry)
        super().dispose()


# SQLAlchemy logs a pool's messages under the name of the pool's class, and our loggers log from INFO on.
logging.getLogger(f"{_Pool.__module__}.{_Pool.__name__}").setLevel(logging.WARNING)


async def _close_all(connections: Sequence[asyncpg.Connection | None]) -> None:
    closing = (connection.close() for connection in connections if connection is not None)
    await asyncio.gather(*closing, return_exceptions=True)


def engine(
    dsn: str,
    *,
    pool_size: int = 10,
    application_name: str = APPLICATION_NAME,
    statement_timeout_s: float = STATEMENT_TIMEOUT_S,
    pool_wait_s: float = POOL_WAIT_S,
    times: DatabaseTimes = DEFAULT_DATABASE_TIMES,
) -> AsyncEngine:
    """Make a pool of connections. JSON columns accept any value, because parts that JSONB rejects are replaced
    first."""
    settings = {
        "application_name": application_name,
        "statement_timeout": f"{statement_timeout_s * 1000:.0f}",
        # If the network drops a connection in a transaction, the transaction's locks are held until this time.
        "idle_in_transaction_session_timeout": f"{(statement_timeout_s + times.answer_margin_s) * 1000:.0f}",
        # Parallel plans, which PostgreSQL prefers for exports, would compete with the runners for cores.
        "max_parallel_workers_per_gather": "0",
        # PostgreSQL's default is on. Our statements are short: storing one small catalogue compiled for four seconds.
        "jit": "off",
    }

    async def connect(*_: Any, **__: Any) -> asyncpg.Connection:
        return await wire.connect(dsn, settings=settings, statement_timeout_s=statement_timeout_s, times=times)

    new_engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connect,
        poolclass=_Pool,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=pool_wait_s,
        json_serializer=to_json,
        # An error of SQLAlchemy is logged, and a parameter may be a runner's secret.
        hide_parameters=True,
    )
    event.listen(new_engine.sync_engine, "connect", _mark_fresh)
    event.listen(new_engine.sync_engine, "checkout", _ping)
    event.listen(new_engine.sync_engine, "checkin", _forget_long)
    return new_engine


def _mark_fresh(_connection: Any, entry: ConnectionPoolEntry) -> None:
    entry.info["fresh"] = True


def _ping(connection: Any, entry: ConnectionPoolEntry, _proxy: Any) -> None:
    """Whether a connection from the pool still reaches the server.

    Unlike SQLAlchemy's own ping, this one has a time limit. If one connection is broken, all connections of the pool
    are replaced.
    """
    if entry.info.pop("fresh", False):
        return

    async def ask(raw: asyncpg.Connection) -> None:
        try:
            await raw.execute("select 1", timeout=raw.times.ping_s)
        except DATABASE_AWAY as error:
            raw.terminate()
            raise InvalidatePoolError from error

    connection.run_async(ask)


async def allow_long_statements(connection: AsyncConnection) -> None:
    """Raise the time limit of statements to ``LONG_STATEMENT_S`` for the rest of this transaction, on server and
    client."""
    await connection.execute(text(f"SET LOCAL statement_timeout = '{LONG_STATEMENT_S:.0f}s'"))
    raw = (await connection.get_raw_connection()).driver_connection
    assert isinstance(raw, wire.BoundedConnection)
    raw.limit_statements(LONG_STATEMENT_S)


def _forget_long(connection: Any, _entry: ConnectionPoolEntry) -> None:
    # None means that the connection was closed instead of being returned to the pool.
    if connection is not None:
        connection.driver_connection.limit_as_made()


async def transact(engine: AsyncEngine, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
    """Do ``work`` in one transaction, and retry it from its beginning after a conflict with another transaction.

    Used for statements that change many jobs, because other transactions claim, start and finish these jobs at the same
    time.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            async with engine.begin() as connection:
                return await work(connection)
        except DBAPIError as error:
            if not is_conflict(error):
                raise
    async with engine.begin() as connection:
        return await work(connection)


async def run_once(dsn: str, work: Callable[[Connection], T]) -> T:
    """Do ``work`` in one transaction on a new connection. Raises ``DatabaseError`` for any failure."""
    if dsn.partition("://")[0] not in SCHEMES:
        # The text of the DSN is not shown, because it may contain a password.
        raise DatabaseError("the DSN of the database is not a URL: write it like postgresql://user@host:5432/database")
    pool = engine(dsn, pool_size=1, application_name="portolan migration", statement_timeout_s=MIGRATION_TIMEOUT_S)
    try:
        async with pool.begin() as connection:
            return await connection.run_sync(work)
    except DATABASE_AWAY as error:
        raise DatabaseError(
            f"the database at {_place(dsn)} cannot be used ({reason_of(error)}): check that it runs, and that the DSN "
            "is right"
        ) from error
    finally:
        await pool.dispose()


def _place(dsn: str) -> str:
    parts = urlsplit(dsn)
    return f"{parts.hostname or 'localhost'}:{parts.port or 5432}{parts.path}"
