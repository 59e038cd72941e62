"""A TCP proxy that can fall silent: it discards the data that it receives and keeps connections open, like some
firewalls."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit, urlunsplit

from tests.event_loop import EventLoop


class SilentProxy:
    """``with SilentProxy(dsn) as proxy``: ``proxy.dsn`` leads through the proxy, until ``forget`` makes it discard
    data."""

    def __init__(self, dsn: str) -> None:
        parts = urlsplit(dsn)
        assert parts.hostname
        assert parts.port
        self._parts = parts
        self._to = (parts.hostname, parts.port)
        self._forgotten: set[int] = set()
        self._open = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._events = EventLoop()
        self.dsn = ""

    def __enter__(self) -> SilentProxy:
        port = self._events.run(self._listen())
        place = f"{self._parts.netloc.rpartition('@')[0]}@127.0.0.1:{port}"
        self.dsn = urlunsplit(self._parts._replace(netloc=place))
        return self

    def __exit__(self, *_: object) -> None:
        self._events.run(self._close())
        self._events.close()

    @property
    def connections(self) -> int:
        """The number of connections that were made through the proxy."""
        return self._open

    def forget(self) -> None:
        """Discard the data of current connections in both directions. New connections work."""
        self._forgotten.update(range(self._open))

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _close(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self._open = self._open, self._open + 1
        self._writers.append(writer)
        try:
            to_reader, to_writer = await asyncio.open_connection(*self._to)
            self._writers.append(to_writer)
            await asyncio.gather(
                self._carry(number, reader, to_writer), self._carry(number, to_reader, writer), return_exceptions=True
            )
        except (OSError, asyncio.CancelledError):
            writer.close()

    async def _carry(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                if number not in self._forgotten:
                    writer.write(data)
                    await writer.drain()
        finally:
            # Closing the connection would send a packet, so a discarded connection stays open.
            if number not in self._forgotten:
                writer.close()
