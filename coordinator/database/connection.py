"""Connections: the engine, transactions, values that PostgreSQL accepts, and waiting for notifications.

DSNs are plain (``postgresql://…``) everywhere and read by asyncpg itself, so that what works
for ``psql`` (``?sslmode=require``) works here too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import asyncpg
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from coordinator.database import wire
from coordinator.database.outage import DATABASE_AWAY, is_conflict
from coordinator.settings import STATEMENT_TIMEOUT_S

T = TypeVar("T")

APPLICATION_NAME = "portolan"
IDLE_IN_TRANSACTION_TIMEOUT_S = 60.0
"""A transaction left open keeps dead rows alive, which makes every claim slower."""
POOL_WAIT_S = 30.0
"""How long a request waits for a connection while all are in use."""
PING_TIMEOUT_S = 5.0
LISTEN_PING_S = 20.0
RECONNECT_S = (0.1, 5.0)
"""First pause before another attempt, and the longest; it doubles in between."""
ATTEMPTS = 5
"""Of a transaction that met conflicts; each has cost others and us a second by then."""

DEEPEST = 100
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_UNTEXTUAL = dict.fromkeys((0, *range(0xD800, 0xE000)), REPLACEMENT)


def engine(
    dsn: str,
    *,
    pool_size: int = 10,
    application_name: str = APPLICATION_NAME,
    statement_timeout_s: float = STATEMENT_TIMEOUT_S,
    pool_wait_s: float = POOL_WAIT_S,
) -> AsyncEngine:
    """A pool of connections. JSON columns take any value: what JSONB refuses is replaced first."""
    settings = {
        "application_name": application_name,
        "statement_timeout": f"{statement_timeout_s * 1000:.0f}",
        "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_TIMEOUT_S * 1000:.0f}",
        # The parallel plans that PostgreSQL likes for exports compete with the runners for cores.
        "max_parallel_workers_per_gather": "0",
    }

    async def connect(*_: Any, **__: Any) -> asyncpg.Connection:
        return await wire.connect(dsn, settings=settings, statement_timeout_s=statement_timeout_s)

    made = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connect,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=pool_wait_s,
        json_serializer=to_json,
        # An error of SQLAlchemy is logged, and a parameter may be a runner's secret.
        hide_parameters=True,
    )
    event.listen(made.sync_engine, "connect", _mark_fresh)
    event.listen(made.sync_engine, "checkout", _ping)
    return made


def _mark_fresh(_connection: Any, entry: ConnectionPoolEntry) -> None:
    entry.info["fresh"] = True


def _ping(connection: Any, entry: ConnectionPoolEntry, _proxy: Any) -> None:
    """Whether a connection from the pool still has a server, within a limit, which SQLAlchemy's own ping lacks.

    If it has none, no other of the pool has: all are made anew.
    """
    if entry.info.pop("fresh", False):
        return

    async def ask(raw: asyncpg.Connection) -> None:
        try:
            await raw.execute("select 1", timeout=PING_TIMEOUT_S)
        except DATABASE_AWAY as error:
            raw.terminate()
            raise InvalidatePoolError from error

    connection.run_async(ask)


async def transact(engine: AsyncEngine, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
    """What ``work`` does, in one transaction, and from its beginning again after a conflict with another one.

    For what touches many jobs at once while they are claimed, started and finished.
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


def plain_text(value: str) -> str:
    """``value`` as a text column can hold it: NUL and lone surrogates become U+FFFD."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.translate(_UNTEXTUAL)
    return value.replace("\0", REPLACEMENT) if "\0" in value else value


def jsonable(value: Any, *, depth: int = DEEPEST) -> Any:
    """``value`` as JSONB can hold it.

    NaN and infinities become the strings ``NaN``, ``Infinity``, ``-Infinity``; NUL and lone
    surrogates U+FFFD, in keys too; an unknown type its text, what is nested too deeply ``…``.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, int):
        return value if value.bit_length() < 4096 else hex(value)  # Python refuses to print longer ones
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (Mapping, list, tuple, set, frozenset)) and not depth:
        return "…"
    if isinstance(value, Mapping):
        return {plain_text(str(key)): jsonable(each, depth=depth - 1) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(each, depth=depth - 1) for each in value]
    return plain_text(str(value))


def to_json(value: Any) -> str:
    """JSON text that JSONB accepts. Ordinary values take only the standard encoder's fast path."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        text = ""
    # As ASCII, NUL reads \u0000 and every surrogate \ud…; pairs pass the second look unchanged.
    if not text or "\\u0000" in text or "\\ud" in text:
        text = json.dumps(jsonable(value), allow_nan=False, separators=(",", ":"))
    return text


@dataclass(frozen=True)
class Notice:
    """Something was said on a channel; an empty payload after a reconnect means *look again*."""

    channel: str
    payload: str


@dataclass
class Notices:
    """What arrived and was not yet taken; the same notice twice counts once."""

    _waiting: dict[Notice, None] = field(default_factory=dict)
    _some: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: BaseException | None = None

    def put(self, notices: Iterable[Notice]) -> None:
        self._waiting.update(dict.fromkeys(notices))
        self._some.set()

    def end(self, error: BaseException) -> None:
        """No notice comes any more."""
        self._ended = error
        self._some.set()

    async def take(self, timeout_s: float | None = None) -> list[Notice]:
        """All notices so far, waiting for the first; none if ``timeout_s`` passes without one.

        Raises what ended the listening, if it is over: a wait for notices that cannot come has no end.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._some.wait()
        if self._ended is not None:
            raise RuntimeError("notifications are no longer listened for") from self._ended
        taken = list(self._waiting)
        self._waiting.clear()
        self._some.clear()
        return taken

    async def __aiter__(self) -> AsyncIterator[Notice]:
        while True:
            for notice in await self.take():
                yield notice


@contextlib.asynccontextmanager
async def listening(dsn: str, *channels: str) -> AsyncIterator[Notices]:
    """Notices sent by ``NOTIFY`` on ``channels``; every one that is committed inside the block.

    Has a connection of its own. If that breaks it is made anew, and then every channel gets a
    notice without payload, because something may have been said in between.
    """
    notices = Notices()
    connection = await _listen(dsn, channels, notices)
    keeper = asyncio.create_task(_keep_listening(dsn, channels, notices, connection), name="listening")
    try:
        yield notices
    finally:
        keeper.cancel()
        await asyncio.wait([keeper])


async def _listen(dsn: str, channels: tuple[str, ...], notices: Notices) -> asyncpg.Connection:
    def heard(_connection: object, _pid: int, channel: str, payload: str) -> None:
        notices.put([Notice(channel, payload)])

    settings = {"application_name": f"{APPLICATION_NAME} listening"}
    connection = await wire.connect(dsn, settings=settings, statement_timeout_s=wire.CONNECT_TIMEOUT_S)
    try:
        for channel in channels:
            await connection.add_listener(channel, heard)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _keep_listening(
    dsn: str, channels: tuple[str, ...], notices: Notices, connection: asyncpg.Connection
) -> None:
    first, longest = RECONNECT_S
    pause = first
    try:
        while True:
            try:
                await _until_broken(connection)
                connection = await _listen(dsn, channels, notices)
            except DATABASE_AWAY:
                await asyncio.sleep(pause)
                pause = min(2 * pause, longest)
            else:
                pause = first
                notices.put(Notice(channel, "") for channel in channels)
    except Exception as error:
        notices.end(error)


async def _until_broken(connection: asyncpg.Connection) -> None:
    """Returns when the connection is gone; asks now and then, because a dead peer says nothing."""
    broken = asyncio.Event()
    connection.add_termination_listener(lambda _connection: broken.set())
    try:
        while not connection.is_closed() and not broken.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LISTEN_PING_S):
                    await broken.wait()
            if not broken.is_set():
                await connection.execute("select 1", timeout=PING_TIMEOUT_S)
    except DATABASE_AWAY:
        pass
    finally:
        connection.terminate()
