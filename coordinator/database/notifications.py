"""Receives the notifications of ``NOTIFY``, on a dedicated connection that is reopened when it breaks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

import asyncpg

from coordinator.configuration.backoff import Backoff
from coordinator.database import wire
from coordinator.database.connection import APPLICATION_NAME
from coordinator.database.outage import DATABASE_AWAY
from coordinator.database.times import DEFAULT_DATABASE_TIMES, DatabaseTimes

RECONNECT = Backoff(first_s=0.1, longest_s=5.0)


@dataclass(frozen=True)
class Notice:
    """A notification on a channel. An empty payload comes after a reconnect, and means that notifications may have been
    missed."""

    channel: str
    payload: str


@dataclass
class Notices:
    """Notices that have arrived and have not been taken yet. Equal notices count once."""

    _waiting: dict[Notice, None] = field(default_factory=dict)
    _some: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: BaseException | None = None

    def put(self, notices: Iterable[Notice]) -> None:
        self._waiting.update(dict.fromkeys(notices))
        self._some.set()

    def end(self, error: BaseException) -> None:
        """Make ``take`` raise this error from now on, because no further notice will come."""
        self._ended = error
        self._some.set()

    async def take(self, timeout_s: float | None = None) -> list[Notice]:
        """Return all notices so far. Waits for the first notice, but not longer than ``timeout_s``.

        If the connection cannot be reopened, raises the error that ended listening.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._some.wait()
        if self._ended is not None:
            raise RuntimeError("the connection for notifications has been closed") from self._ended
        batch = list(self._waiting)
        self._waiting.clear()
        self._some.clear()
        return batch

    async def __aiter__(self) -> AsyncIterator[Notice]:
        while True:
            for notice in await self.take():
                yield notice


@contextlib.asynccontextmanager
async def listening(dsn: str, *channels: str, times: DatabaseTimes = DEFAULT_DATABASE_TIMES) -> AsyncIterator[Notices]:
    """Yield the notices on ``channels``, including every notice that is committed inside the block.

    If the dedicated connection breaks, it is reopened. Every channel then gets a notice without payload, because
    notices may have been missed.
    """
    notices = Notices()
    connection = await _listen(dsn, channels, notices, times)
    keeper = asyncio.create_task(_keep_listening(dsn, channels, notices, connection, times), name="listening")
    try:
        yield notices
    finally:
        keeper.cancel()
        await asyncio.wait([keeper])


async def _listen(dsn: str, channels: tuple[str, ...], notices: Notices, times: DatabaseTimes) -> asyncpg.Connection:
    def on_notice(_connection: object, _pid: int, channel: str, payload: str) -> None:
        notices.put([Notice(channel, payload)])

    settings = {"application_name": f"{APPLICATION_NAME} listening"}
    connection = await wire.connect(dsn, settings=settings, statement_timeout_s=times.connect_s, times=times)
    try:
        for channel in channels:
            await connection.add_listener(channel, on_notice)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _keep_listening(
    dsn: str, channels: tuple[str, ...], notices: Notices, connection: asyncpg.Connection, times: DatabaseTimes
) -> None:
    failures = 0
    try:
        while True:
            try:
                await _until_broken(connection, times)
                connection = await _listen(dsn, channels, notices, times)
            except DATABASE_AWAY:
                failures += 1
                await asyncio.sleep(RECONNECT.pause_s(failures))
            else:
                failures = 0
                notices.put(Notice(channel, "") for channel in channels)
    except Exception as error:
        notices.end(error)


async def _until_broken(connection: asyncpg.Connection, times: DatabaseTimes) -> None:
    """Return when the connection is lost. Sends pings at intervals, because without them the loss of a silent server
    would not be noticed."""
    broken = asyncio.Event()
    connection.add_termination_listener(lambda _connection: broken.set())
    try:
        while not connection.is_closed() and not broken.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(times.ping_every_s):
                    await broken.wait()
            if not broken.is_set():
                await connection.execute("select 1", timeout=times.ping_s)
    except DATABASE_AWAY:
        pass
    finally:
        connection.terminate()
