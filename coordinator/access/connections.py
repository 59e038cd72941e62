"""Limits on client connections: their number, the time for headers, and the time for reading a response.

Each connection has a few fields, which requests update with three assignments. Once a second, one check reads the
fields of all connections.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from coordinator.configuration.bounds import Bounds
from coordinator.process.logs import get_logger
from protocol.problems import PROBLEM_JSON, Problem

log = get_logger(__name__)

LOOK_EVERY_S = 1.0
OTHER_FILES = 1024
"""The number of files that the process may open besides client connections: connections to the database and to runners,
files, and connections that wait to be accepted."""
BAD_REQUEST = "the request is not valid HTTP: its path or a header holds a character that HTTP does not allow"


def allow_connections(count: int) -> None:
    """Raise this process's limit of open files, as far as the system allows, so that it can serve this many
    connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_files = count + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < open_files:
        limit = open_files if hard == resource.RLIM_INFINITY else min(open_files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


class BoundedProtocol(H11Protocol):
    """One client connection. ``bounded_protocol`` makes a subclass for each server, and all connections of a subclass
    share its limits and its timer."""

    bounds: Bounds
    runners_port: int | None
    timer: asyncio.TimerHandle | None = None

    since = 0.0
    """The time at which the wait for a request began. While headers arrive, the time of their first byte."""
    begun = False
    """Whether a part of a request's headers has arrived."""
    unsent = 0
    """Bytes of the response that the client had not read at the last check."""
    unsent_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.since = self.loop.time()
        others = cast(list[BoundedProtocol], list(self.connections))
        super().connection_made(transport)
        for crowd, most in self._crowds(others):
            if len(crowd) >= most and not _make_room(crowd):
                transport.write(_full(most))
                transport.close()
                break
        kind = type(self)
        if kind.timer is None:
            kind.timer = self.loop.call_later(LOOK_EVERY_S, _look, kind, self.connections, self.loop)

    def _crowds(self, others: Sequence[BoundedProtocol]) -> Iterator[tuple[list[BoundedProtocol], int]]:
        """The groups of connections that share a limit with this one, the smallest group first.

        Ports have separate limits, so that an overload of one port leaves the other ports usable.
        """
        on_port = [other for other in others if other.local_port == self.local_port]
        yield [other for other in on_port if other.address == self.address], self.bounds.address_connections
        if self.local_port == self.runners_port:
            yield on_port, self.bounds.runner_connections
        yield [other for other in others if other in self.connections], self.bounds.connections

    @property
    def local_port(self) -> int | None:
        """The port of this machine that the client called."""
        return self.server[1] if self.server else None

    @property
    def address(self) -> str | None:
        return self.client[0] if self.client else None

    def data_received(self, data: bytes) -> None:
        if not self.begun and self.is_waiting:
            self.begun = True
            self.since = self.loop.time()
        if not self.transport.is_closing():
            super().data_received(data)

    def on_response_complete(self) -> None:
        self.begun = False
        self.since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Send a problem document as the response to data that is not an HTTP request."""
        if self.is_waiting or not self.cycle.response_started:
            self.transport.write(_answer(400, "Bad Request", "The request cannot be read", BAD_REQUEST))
        # If a part of a response was sent already, the client notices that the rest is missing.
        self.transport.close()

    @property
    def is_waiting(self) -> bool:
        """Whether the connection is idle."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def is_unfinished(self) -> bool:
        """Whether the body of the current request is incomplete and no response has begun."""
        return not self.is_waiting and self.cycle.more_body and not self.cycle.response_started

    def look(self, now: float) -> None:
        """End the connection if its client has taken too long."""
        if self.is_waiting and (self.begun or self.cycle is None):
            if now - self.since > self.bounds.header_seconds:
                self.transport.abort()
            return
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent != self.unsent:
            self.unsent, self.unsent_since = unsent, now
        elif now - self.unsent_since > self.bounds.stalled_seconds:
            log.info("a connection was closed because its client stopped reading the response", client=str(self.client))
            self.transport.abort()


def bounded_protocol(bounds: Bounds, runners_port: int | None = None) -> type[BoundedProtocol]:
    """The protocol class for one server with these limits."""

    class OfServer(BoundedProtocol):
        pass

    OfServer.bounds, OfServer.runners_port = bounds, runners_port
    return OfServer


def _look(kind: type[BoundedProtocol], connections: set[Any], loop: asyncio.AbstractEventLoop) -> None:
    now = loop.time()
    for connection in list(connections):
        connection.look(now)
    kind.timer = loop.call_later(LOOK_EVERY_S, _look, kind, connections, loop) if connections else None


def _make_room(connections: Iterable[BoundedProtocol]) -> bool:
    """Close one of the connections, and return whether a connection could be closed. A connection without any request
    so far is closed first, otherwise an idle connection, otherwise a connection with an incomplete request. Among
    several, the connection that has waited longest is closed."""
    could = [
        connection
        for connection in connections
        if (connection.is_waiting or connection.is_unfinished) and not connection.transport.is_closing()
    ]
    if not could:
        return False
    oldest = min(could, key=lambda one: (one.is_unfinished, one.cycle is not None, one.since))
    oldest.transport.abort()
    # ``connections`` removes a closed connection only later, and would count it until then.
    oldest.connections.discard(oldest)
    return True


def _full(most: int) -> bytes:
    detail = f"all {most:,} connections of this coordinator are busy: try again in a moment"
    return _answer(503, "Service Unavailable", "Too many connections", detail, "Retry-After: 5")


def _answer(status: int, phrase: str, title: str, detail: str, *more: str) -> bytes:
    """A problem document as HTTP bytes that closes the connection, for errors without a parsed request."""
    body = Problem(title=title, status=status, detail=detail).model_dump_json(exclude_none=True).encode()
    headers = [f"Content-Type: {PROBLEM_JSON}", "Connection: close", f"Content-Length: {len(body)}", *more]
    return "\r\n".join([f"HTTP/1.1 {status} {phrase}", *headers, "", ""]).encode() + body
