"""A database server sends nothing any more, but keeps its connections open. Every wait for it ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.database import wire
from coordinator.database.connection import engine
from coordinator.database.notifications import Notice, listening
from coordinator.database.outage import DATABASE_AWAY, is_outage
from coordinator.database.times import DatabaseTimes
from coordinator.errors import DatabaseAwayError
from tests.silent_proxy import SilentProxy

STATEMENT_TIMEOUT_S = 0.2
LIMIT_S = 60.0
IMPATIENT = DatabaseTimes(answer_margin_s=0.5, cancel_s=0.5, ping_s=0.5, ping_every_s=0.2)


@pytest.fixture
def proxy(postgres: str) -> Iterator[SilentProxy]:
    with SilentProxy(postgres) as proxy:
        yield proxy


@pytest.fixture
async def pool(proxy: SilentProxy) -> AsyncIterator[AsyncEngine]:
    pool = engine(proxy.dsn, pool_size=3, statement_timeout_s=STATEMENT_TIMEOUT_S, times=IMPATIENT)
    yield pool
    await pool.dispose()


async def one(pool: AsyncEngine) -> int:
    async with pool.begin() as connection:
        value: int = (await connection.execute(text("select 1"))).scalar_one()
        return value


async def test_a_statement_without_an_answer_ends_and_the_next_has_another_connection(
    proxy: SilentProxy, pool: AsyncEngine
) -> None:
    async with asyncio.timeout(LIMIT_S):
        async with pool.connect() as connection:
            await connection.execute(text("select 1"))
            proxy.forget()
            with pytest.raises(DATABASE_AWAY) as excinfo:
                await connection.execute(text("select 2"))
            assert is_outage(excinfo.value)
        assert await one(pool) == 1
    assert proxy.connections > 1


async def test_all_connections_of_a_pool_are_replaced_when_one_is_found_silent(
    proxy: SilentProxy, pool: AsyncEngine
) -> None:
    async with asyncio.timeout(LIMIT_S):
        assert await asyncio.gather(*(one(pool) for _ in range(3))) == [1, 1, 1]
        proxy.forget()
        assert await asyncio.gather(*(one(pool) for _ in range(3))) == [1, 1, 1]


async def test_a_cancelled_statement_waits_for_nobody(proxy: SilentProxy, pool: AsyncEngine) -> None:
    async with asyncio.timeout(LIMIT_S):
        async with pool.connect() as connection:
            await connection.execute(text("select 1"))
            proxy.forget()
            asking = asyncio.create_task(connection.execute(text("select 2")))
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])
        assert asking.cancelled()
        assert await one(pool) == 1


async def test_a_pool_waits_for_a_silent_server_once_when_it_closes(proxy: SilentProxy) -> None:
    times = replace(IMPATIENT, close_s=2.0)
    pool = engine(proxy.dsn, pool_size=10, statement_timeout_s=600.0, times=times)
    async with asyncio.timeout(LIMIT_S):
        await asyncio.gather(*(one(pool) for _ in range(10)))
        made = proxy.connections
        assert made > 1
        proxy.forget()
        began = asyncio.get_running_loop().time()
        await pool.dispose()
        assert asyncio.get_running_loop().time() - began < made * times.close_s


async def test_a_listener_notices_that_nobody_speaks_any_more(proxy: SilentProxy, postgres: str) -> None:
    async with asyncio.timeout(LIMIT_S), listening(proxy.dsn, "silent", times=IMPATIENT) as notices:
        proxy.forget()
        assert await notices.take() == [Notice("silent", "")]
        sender = await asyncpg.connect(postgres)
        await sender.execute("notify silent, 'heard'")
        await sender.close()
        assert await notices.take() == [Notice("silent", "heard")]


async def test_both_ends_keep_a_connection_alive(postgres: str) -> None:
    connection = await wire.connect(postgres)
    ours = connection._transport.get_extra_info("socket")
    assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == wire.KEEPALIVE_IDLE_S
    assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == wire.UNACKNOWLEDGED_S * 1000
    assert await connection.fetchval("show tcp_keepalives_idle") == str(wire.KEEPALIVE_IDLE_S)
    assert await connection.fetchval("show tcp_user_timeout") == str(wire.UNACKNOWLEDGED_S * 1000)
    await connection.close()


async def test_nobody_listens_at_the_port() -> None:
    with socket.socket() as unused_socket:
        unused_socket.bind(("127.0.0.1", 0))
        with pytest.raises(DatabaseAwayError, match="Connect"):
            await wire.connect(f"postgresql://nobody@127.0.0.1:{unused_socket.getsockname()[1]}/none")
