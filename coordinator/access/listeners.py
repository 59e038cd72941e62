"""The coordinator's listeners, and the requests that each listener serves.

Runners must reach the coordinator to enroll, and every case that runs on their network can reach it too. So runners get
a listener that serves only enrollment. REST is then served only at an address that cannot be reached from the runners'
network. Health checks are served everywhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from dataclasses import dataclass, field

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from coordinator.http.problems import problem
from protocol.enrolment import PATH

ENROLMENT = ("POST", PATH)
HEALTH = "/healthz"
RESOLVED_AGAIN_S = 5.0
"""The seconds after which the host name of ``rest_address`` is resolved again. The name of a container can be resolved
only after the container has become healthy."""


@dataclass
class Listeners:
    """The addresses that are served: ``runners_port`` serves only enrollment, ``rest_address`` serves REST."""

    runners_port: int | None
    rest_address: str | None
    _resolved: frozenset[str] = frozenset()
    _resolved_at: float = field(default=float("-inf"))

    async def refusal(self, method: str, path: str, address: str, port: int) -> str | None:
        """The reason why this request is not served at this local address and port; None if it is served."""
        if path == HEALTH:
            return None
        if port == self.runners_port:
            return (
                None
                if (method, path) == ENROLMENT
                else "this port only accepts runners that enroll: use the coordinator's main port"
            )
        if self.rest_address is None or await self._is_for_rest(address):
            return None
        return "this address is for runners and serves only health checks: use the coordinator's main address"

    async def _is_for_rest(self, address: str) -> bool:
        local = _plain(address)
        if ipaddress.ip_address(local).is_loopback:
            return True
        if time.monotonic() - self._resolved_at > RESOLVED_AGAIN_S:
            self._resolved = await _resolve(self.rest_address or "")
            self._resolved_at = time.monotonic()
        return local in self._resolved


class ListenerMiddleware:
    """Refuses each request that is not served at the address and port where it arrived, before any other handling."""

    def __init__(self, app: ASGIApp, listeners: Listeners) -> None:
        self._app = app
        self._listeners = listeners

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            # A request without an address did not come over a network.
            address, port = (scope.get("server") or ("127.0.0.1", None))[:2]
            reason = await self._listeners.refusal(scope["method"], scope["path"], address, port or 0)
            if reason is not None:
                await problem(Request(scope), 403, "Not served here", reason)(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def _resolve(name: str) -> frozenset[str]:
    """The addresses of a host name. The result is empty while the name cannot be resolved, so that nothing is served by
    mistake."""
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return frozenset()
    return frozenset(_plain(str(address[0])) for *_, address in addresses)


def _plain(address: str) -> str:
    """The normalized form of an address: IPv4-mapped IPv6 addresses become IPv4."""
    parsed_address = ipaddress.ip_address(address.partition("%")[0])
    ipv4 = getattr(parsed_address, "ipv4_mapped", None)
    return str(ipv4 or parsed_address)
