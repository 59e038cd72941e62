"""A server that answers each request with whatever bytes a test likes, at whatever pace."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable

Pieces = Callable[[], Iterable[bytes]]


@contextlib.asynccontextmanager
async def answering(pieces: Pieces, *, pause_s: float = 0.0, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Its URL. Every connection gets the pieces, the first of which begins with the status line."""

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
