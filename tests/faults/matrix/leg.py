"""A leg: the TCP connections between two processes, through a relay that can be broken on command.

One leg is between a coordinator and PostgreSQL, and one between the coordinators and each runner.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

PIECE_BYTES = 1 << 16
RESET_ON_CLOSE = struct.pack("ii", 1, 0)

Mangle = Callable[[bytes], tuple[bytes, bool]]
"""A function that returns the changed form of one piece of a response, and whether the connection continues after this
piece."""


def cut_in_the_middle(piece: bytes) -> tuple[bytes, bool]:
    """Half of the piece arrives, and then the connection ends."""
    return piece[: len(piece) // 2], False


def corrupt(piece: bytes) -> tuple[bytes, bool]:
    """One byte is replaced by a byte that is never part of valid UTF-8, so that readers can notice the damage."""
    middle = len(piece) // 2
    return piece[:middle] + b"\xff" + piece[middle + 1 :], True


def garble(piece: bytes) -> tuple[bytes, bool]:
    """The piece is replaced by bytes of no protocol."""
    return b"\xff" * 16, True


@dataclass
class Weather:
    """The current behavior of a leg."""

    delay_s: float = 0.0
    bytes_per_s: float | None = None
    silent: bool = False
    """Data goes nowhere, without an error for the sender. Connections from this time never recover."""
    deaf: bool = False
    """Like ``silent``, but only for responses: requests arrive."""
    doubled: bool = False
    """Data that is sent on a connection is sent a second time, on another connection to the same port."""
    mangle: Mangle | None = None
    """Changes the next piece that comes back."""


class _Cut(Exception):
    """Raised to end the connection."""


@dataclass(eq=False)
class _Connection:
    writers: tuple[asyncio.StreamWriter, ...]
    silent: bool = False
    deaf: bool = False

    def reset(self) -> None:
        for writer in self.writers:
            raw = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            writer.transport.abort()


@dataclass
class Leg:
    """A relay to ``target_port``. ``weather`` can be replaced at any time, from any thread."""

    target_port: int
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    """Runs a coroutine on the event loop of the relays and waits for its end."""
    weather: Weather = field(default_factory=Weather)
    port: int = 0
    _connections: set[_Connection] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _server: asyncio.Server | None = None

    def open(self) -> None:
        self.run(self._open())

    def close(self) -> None:
        self.run(self._close())

    def clear(self) -> None:
        self.weather = Weather()

    def forget_connections(self) -> None:
        """Let current connections carry no data any more, like a firewall that lost its table."""
        self.run(self._silence())

    def forget_answers(self) -> None:
        self.run(self._deafen())

    def reset_connections(self) -> None:
        self.run(self._reset())

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._reset()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _silence(self) -> None:
        for connection in self._connections:
            connection.silent = True

    async def _deafen(self) -> None:
        for connection in self._connections:
            connection.deaf = True

    async def _reset(self) -> None:
        for connection in list(self._connections):
            connection.reset()

    async def _accept(self, caller_in: asyncio.StreamReader, caller_out: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._relay(caller_in, caller_out))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _relay(self, caller_in: asyncio.StreamReader, caller_out: asyncio.StreamWriter) -> None:
        try:
            callee_in, callee_out = await asyncio.open_connection("127.0.0.1", self.target_port)
        except (OSError, asyncio.CancelledError):
            caller_out.transport.abort()
            return
        connection = _Connection((caller_out, callee_out), self.weather.silent, self.weather.deaf)
        self._connections.add(connection)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forth(connection, caller_in, callee_out))
                group.create_task(self._back(connection, callee_in, caller_out))
        except* _Cut:
            pass  # what has been sent arrives, and then the end
        except* OSError:
            connection.reset()
        finally:
            self._connections.discard(connection)
            for writer in connection.writers:
                writer.close()

    async def _forth(self, connection: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        double: asyncio.StreamWriter | None = None
        try:
            while piece := await reader.read(PIECE_BYTES):
                await self._linger(piece)
                if connection.silent:
                    continue
                if self.weather.doubled:
                    double = double or (await asyncio.open_connection("127.0.0.1", self.target_port))[1]
                    double.write(piece)
                writer.write(piece)
                await writer.drain()
        finally:
            if double is not None:
                double.close()
        # The caller is gone; what the callee still says interests nobody.
        writer.close()

    async def _back(self, connection: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(PIECE_BYTES):
            await self._linger(piece)
            if connection.silent or connection.deaf:
                continue
            goes_on = True
            if self.weather.mangle is not None:
                mangle, self.weather.mangle = self.weather.mangle, None
                piece, goes_on = mangle(piece)
            writer.write(piece)
            await writer.drain()
            if not goes_on:
                raise _Cut
        # A silent connection does not even tell that the other end has closed it.
        while connection.silent or connection.deaf:
            await asyncio.sleep(1.0)
            if writer.transport.is_closing():
                return
        writer.close()

    async def _linger(self, piece: bytes) -> None:
        if self.weather.delay_s:
            await asyncio.sleep(self.weather.delay_s)
        if self.weather.bytes_per_s:
            await asyncio.sleep(len(piece) / self.weather.bytes_per_s)
