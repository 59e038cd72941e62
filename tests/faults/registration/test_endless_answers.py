"""An answer that does not end costs a registration, and not the coordinator's memory."""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import Callable

import pytest

from coordinator.errors import RunnerIncompatibleError
from coordinator.registry.client import probe

BLANKS = b" " * (1 << 20)
GZIP = 31


def packer() -> Callable[[bytes], bytes]:
    """What is sent is a thousandth of what it unpacks to."""
    return zlib.compressobj(wbits=GZIP).compress


@pytest.mark.parametrize(
    ("header", "pack"),
    [("", lambda blanks: blanks), ("Content-Encoding: gzip\r\n", packer())],
    ids=["plain", "packed"],
)
async def test_an_answer_without_end_is_refused(header: str, pack: Callable[[bytes], bytes]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{header}\r\n".encode())
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(pack(BLANKS))
                await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, asyncio.timeout(120):
        with pytest.raises(RunnerIncompatibleError, match=r"sent an answer of over 64 MiB"):
            await probe(f"http://127.0.0.1:{port}", "secret")
