"""A server closes an idle connection at the moment at which the next request arrives. Clients of runners must not use
such a connection."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import pytest

from coordinator.conformance.start import connect
from coordinator.conformance.times import DEFAULT_CHECK_TIMES
from coordinator.errors import RunnerIncompatibleError
from coordinator.registry.client import RunnerClient
from protocol.limits import IDLE_CONNECTION_S

KEPT_S = 1.1 * IDLE_CONNECTION_S
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Closing:
    """A server that responds ``{}``, but not to a request over a connection that was idle for ``KEPT_S``."""

    def __init__(self) -> None:
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        idle_since = None
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                if idle_since is not None and time.monotonic() - idle_since > KEPT_S:
                    return
                writer.write(ANSWER)
                await writer.drain()
                idle_since = time.monotonic()


@pytest.fixture
async def closing() -> AsyncIterator[tuple[Closing, str]]:
    server = Closing()
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        yield server, f"http://{host}:{port}"


async def idle() -> None:
    """Wait for a time, because the idle time itself is tested."""
    await asyncio.sleep(1.2 * IDLE_CONNECTION_S)


async def test_a_coordinator_does_not_reuse_a_connection_that_its_runner_may_close(
    closing: tuple[Closing, str],
) -> None:
    server, url = closing
    async with RunnerClient(url, "a secret") as client:
        for _ in range(2):
            with pytest.raises(RunnerIncompatibleError):
                await client.info()
            await idle()
    assert server.connections == 2


async def test_nor_does_the_conformance_check(closing: tuple[Closing, str]) -> None:
    server, url = closing
    async with connect(url, "a secret", DEFAULT_CHECK_TIMES) as (owner, stranger):
        for _ in range(2):
            assert (await owner.get("/v1/runner")).is_success
            assert (await stranger.get("/healthz")).is_success
            await idle()
    assert server.connections == 4
