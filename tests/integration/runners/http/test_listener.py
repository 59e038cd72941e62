"""The HTTP server ends with its service, even if a client still reads a response."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from runners.http.service import HttpServer, bind
from tests.waiting import LIMIT_S


def endless(end: asyncio.Event) -> FastAPI:
    """Respond with a stream that does not end, even when it is cancelled."""
    app = FastAPI()

    async def lines() -> AsyncIterator[bytes]:
        yield b"a line\n"
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue

    @app.get("/lines")
    async def stream() -> StreamingResponse:
        return StreamingResponse(lines())

    return app


async def test_a_client_that_reads_an_endless_answer_is_let_go_when_the_server_ends() -> None:
    end = asyncio.Event()
    listening = bind("127.0.0.1", 0)
    async with HttpServer(endless(end), listening):
        reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
        writer.write(b"GET /lines HTTP/1.1\r\nHost: here\r\n\r\n")
        assert await reader.readuntil(b"a line\n")
    try:
        async with asyncio.timeout(LIMIT_S):
            with suppress(ConnectionResetError):
                await reader.read()
    finally:
        end.set()
        writer.close()
