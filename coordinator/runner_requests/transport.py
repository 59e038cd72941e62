"""The transport of requests to runners. It connects only to checked addresses, and limits every part of the response.

A name is resolved once per connection. Each of its addresses is checked, and the connection goes to an allowed address.
If the name later gets another address, this has no effect. Redirects are not followed, and proxies from the environment
are not used. The time limit is for the whole response and not for each read, so that a runner that sends one byte per
second also fails. A response is never decompressed.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any
from weakref import WeakSet

import httpcore
import httpx

from coordinator.errors import RunnerAddressError, RunnerIncompatibleError
from coordinator.runner_requests.addresses import RunnerNetworks
from protocol.limits import IDLE_CONNECTION_S, MAX_CATALOGUE_BYTES

MAX_BODY = MAX_CATALOGUE_BYTES
"""The maximum size of a response. No valid response is larger."""
MAX_HEADERS = 100
MAX_HEADER_BYTES = 32 * 1024
MAX_CONNECTIONS = 100
ENDLESS = {"endless": True}
"""Request extensions for the stream of events, whose successful response does not end."""

_resolvers = ThreadPoolExecutor(8, thread_name_prefix="resolver")
"""Separate threads for resolving names. A name server that does not respond blocks only one of these threads for a
while."""


@cache
def _ssl_context() -> ssl.SSLContext:
    """Return the shared SSL context. Creating one takes 39 ms, so all clients share it."""
    return ssl.create_default_context()


class RunnerTransport(httpx.AsyncHTTPTransport):
    """Used as ``httpx.AsyncClient(transport=RunnerTransport(networks, answer_s=30.0))``. Without networks, every
    address is allowed."""

    def __init__(self, networks: RunnerNetworks | None, *, answer_s: float) -> None:
        context = _ssl_context()
        super().__init__(verify=context, trust_env=False)
        self._answer_s = answer_s
        self._backend = _CheckedBackend(networks)
        # httpx does not pass a backend on to its connection pool.
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_CONNECTIONS,
            keepalive_expiry=IDLE_CONNECTION_S,
            network_backend=self._backend,
        )

    async def aclose(self) -> None:
        await super().aclose()
        await self._backend.close_all()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        deadline = asyncio.get_running_loop().time() + self._answer_s
        request.headers["Accept-Encoding"] = "identity"
        try:
            async with asyncio.timeout_at(deadline):
                response = await super().handle_async_request(request)
        except TimeoutError as error:
            raise httpx.ReadTimeout("too slow", request=request) from error
        place = f"{request.url.scheme}://{request.url.netloc.decode('ascii')}"
        if (fault := _fault_of_head(response)) is not None:
            await response.aclose()
            raise RunnerIncompatibleError(f"the server at {place} is not a runner ({fault}): check the URL")
        if not (response.is_success and request.extensions.get("endless")):
            assert isinstance(response.stream, httpx.AsyncByteStream)
            response.stream = _BoundedStream(response.stream, deadline, place)
        return response


def _fault_of_head(response: httpx.Response) -> str | None:
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding.strip().lower() != "identity":
        return "its response is compressed, although the request did not allow compression"
    raw = response.headers.raw
    if len(raw) > MAX_HEADERS or sum(len(name) + len(value) for name, value in raw) > MAX_HEADER_BYTES:
        return f"its answer has over {MAX_HEADERS} headers, or over {MAX_HEADER_BYTES >> 10} KiB of them"
    return None


class _BoundedStream(httpx.AsyncByteStream):
    """A response body that fails with an error at its deadline, or above its maximum number of bytes."""

    def __init__(self, stream: httpx.AsyncByteStream, deadline: float, place: str) -> None:
        self._stream = stream
        self._deadline = deadline
        self._place = place

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        pieces = aiter(self._stream)
        while True:
            try:
                async with asyncio.timeout_at(self._deadline):
                    piece = await anext(pieces, None)
            except TimeoutError as error:
                raise httpx.ReadTimeout("too slow") from error
            if piece is None:
                return
            length += len(piece)
            if length > MAX_BODY:
                raise RunnerIncompatibleError(
                    f"the runner at {self._place} sent an answer of over {MAX_BODY >> 20} MiB, which is the limit: "
                    "repair the runner"
                )
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class _CheckedBackend(httpcore.AnyIOBackend):
    """Connects to checked addresses instead of names."""

    def __init__(self, networks: RunnerNetworks | None) -> None:
        self._networks = networks
        self._streams: WeakSet[httpcore.AsyncNetworkStream] = WeakSet()

    async def close_all(self) -> None:
        """Close all connections, including those that the pool no longer lists.

        The pool removes idle connections from its list before it closes them one by one. If a request is cancelled
        during this, the remaining connections stay open.
        """
        for stream in list(self._streams):
            await stream.aclose()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        try:
            async with asyncio.timeout(timeout):
                for address in self._require_allowed(host, port, await _resolve(host, port)):
                    try:
                        stream = await super().connect_tcp(address, port, None, local_address, socket_options)
                        self._streams.add(stream)
                        return stream
                    except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                        failure = error
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"no connection within {timeout:.0f} s") from error
        raise failure or httpcore.ConnectError(f"{host} has no address")

    def _require_allowed(self, host: str, port: int, addresses: list[str]) -> list[str]:
        """Return the addresses that are allowed. Raises ``RunnerAddressError`` if none is."""
        if self._networks is None:
            return addresses
        allowed_addresses, reasons = self._networks.select(addresses)
        if not allowed_addresses and reasons:
            raise RunnerAddressError(
                f"the coordinator may not connect to the runner at {host}:{port}: its address {reasons[0]}"
            )
        return allowed_addresses


async def _resolve(host: str, port: int) -> list[str]:
    """Return every address of the name, in the system's order, without duplicates."""
    loop = asyncio.get_running_loop()
    try:
        address_infos = await loop.run_in_executor(_resolvers, _look_up, host, port)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"{host}: {error}") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in address_infos))


def _look_up(host: str, port: int) -> list[Any]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
