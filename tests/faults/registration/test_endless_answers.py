"""An answer that does not end costs a registration, and not the coordinator's memory."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
from collections.abc import Callable, Iterable

import pytest

from coordinator.errors import RunnerIncompatibleError
from coordinator.registry.client import MAX_BODY, probe

BLANKS = b" " * (1 << 20)


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("", lambda: itertools.repeat(BLANKS)),
        ("Content-Encoding: gzip\r\n", lambda: [gzip.compress(BLANKS * (MAX_BODY // len(BLANKS) + 1))]),
    ],
    ids=["plain", "packed"],
)
async def test_an_answer_without_end_is_refused(header: str, body: Callable[[], Iterable[bytes]]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{header}\r\n".encode())
        with contextlib.suppress(ConnectionError):
            for piece in body():
                writer.write(piece)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, asyncio.timeout(120):
        with pytest.raises(RunnerIncompatibleError, match=r"sent an answer of over 64 MiB"):
            await probe(f"http://127.0.0.1:{port}", "secret")
