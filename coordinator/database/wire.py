"""A connection to PostgreSQL that soon notices the loss of its server.

A firewall that drops a connection discards its packets silently. By default, the kernel resends them for fifteen
minutes and waits forever for a response. So every connection has keepalives and a limit for unacknowledged data, on
both sides. Every statement also has a time limit on the client's side, longer than the server's limit, in case the
server does not respond at all.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

import asyncpg
from asyncpg.connection import Connection

from coordinator.database.times import DEFAULT_DATABASE_TIMES, DatabaseTimes
from coordinator.errors import DatabaseAwayError, reason_of

KEEPALIVE_IDLE_S = 15
KEEPALIVE_EVERY_S = 5
KEEPALIVE_COUNT = 3
UNACKNOWLEDGED_S = 30
"""The seconds after which the connection ends if sent data are not acknowledged."""

_SERVER_KEEPALIVE = {
    "tcp_keepalives_idle": str(KEEPALIVE_IDLE_S),
    "tcp_keepalives_interval": str(KEEPALIVE_EVERY_S),
    "tcp_keepalives_count": str(KEEPALIVE_COUNT),
    "tcp_user_timeout": str(UNACKNOWLEDGED_S * 1000),
}
# Not every system has all of them. On macOS the first one has another name.
_SOCKET_OPTIONS = {
    "TCP_KEEPIDLE": KEEPALIVE_IDLE_S,
    "TCP_KEEPALIVE": KEEPALIVE_IDLE_S,
    "TCP_KEEPINTVL": KEEPALIVE_EVERY_S,
    "TCP_KEEPCNT": KEEPALIVE_COUNT,
    "TCP_USER_TIMEOUT": UNACKNOWLEDGED_S * 1000,
}


class BoundedConnection(Connection):  # type: ignore[misc]
    """A connection that closes itself if the server does not end a statement that was cancelled or took too long.

    asyncpg waits for the end of a cancelled statement before it sends the next one, such as a rollback. Without this
    class, it would wait as long as a statement may take.
    """

    _config: Any
    times = DEFAULT_DATABASE_TIMES
    """The time limits. asyncpg creates the connection with the defaults, and ``connect`` sets others afterwards."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._made_with = self._config

    def limit_statements(self, statement_timeout_s: float) -> None:
        """Use the statement timeout that was just set on the server."""
        self._config = self._made_with._replace(command_timeout=statement_timeout_s + self.times.answer_margin_s)

    def limit_as_made(self) -> None:
        self._config = self._made_with

    async def close(self, *, timeout: float | None = None) -> None:
        """Close the connection, and wait for the server for at most ``DatabaseTimes.close_s``.

        asyncpg itself would wait as long as a statement may take. After the limit, the connection is dropped. This is
        not an error.
        """
        limit_s = self.times.close_s if timeout is None else min(timeout, self.times.close_s)
        with suppress(TimeoutError):
            await super().close(timeout=limit_s)

    def _cancel_current_command(self, *waiters: Any) -> None:
        super()._cancel_current_command(*waiters)
        asyncio.get_running_loop().call_later(self.times.cancel_s, self._give_up_cancelling)

    def _give_up_cancelling(self) -> None:
        if not self.is_closed() and self._protocol._is_cancelling():
            self.terminate()


async def connect(
    dsn: str,
    *,
    settings: dict[str, str] | None = None,
    statement_timeout_s: float | None = None,
    times: DatabaseTimes = DEFAULT_DATABASE_TIMES,
) -> asyncpg.Connection:
    """Open a connection that notices the loss of its server. Raises ``DatabaseAwayError`` if it cannot connect."""
    limit_s = None if statement_timeout_s is None else statement_timeout_s + times.answer_margin_s
    try:
        connection = await asyncpg.connect(
            dsn,
            server_settings={**_SERVER_KEEPALIVE, **(settings or {})},
            timeout=times.connect_s,
            command_timeout=limit_s,
            connection_class=BoundedConnection,
        )
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise DatabaseAwayError(reason_of(error)) from error
    connection.times = times
    keep_alive(connection._transport.get_extra_info("socket"))
    return connection


def keep_alive(connection: socket.socket) -> None:
    """Enable TCP keepalives, and make the kernel end a connection whose packets are not acknowledged."""
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _SOCKET_OPTIONS.items():
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
