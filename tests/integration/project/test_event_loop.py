"""Connections that a test server still has open when its event loop closes are closed too, so that they cannot make the
next test fail."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from tests.event_loop import EventLoop

PATIENCE_S = 20.0


def test_a_caller_that_came_late_is_let_go() -> None:
    events = EventLoop()
    came = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.set()
        with contextlib.closing(writer), contextlib.suppress(asyncio.CancelledError):
            await reader.read()

    server = events.run(asyncio.start_server(answer, "127.0.0.1", 0))
    with socket.create_connection(server.sockets[0].getsockname(), PATIENCE_S) as caller:
        events.run(came.wait())
        events.loop.call_soon_threadsafe(server.close)
        events.close()
        assert caller.recv(1) == b""
