"""A server that answers each request with bytes that a test chooses, at a speed that the test chooses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable

Pieces = Callable[[], Iterable[bytes]]


@contextlib.asynccontextmanager
async def answering(pieces: Pieces, *, pause_s: float = 0.0, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Start the server, and yield its URL. Every connection gets the pieces, of which the first begins with the status
    line."""

    callers: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        callers.add(task)
        try:
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces():
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(pause_s)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(answer, host, 0)
    try:
        yield f"http://{host}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", "Content-Type: application/json", *lines, "", ""]).encode()
