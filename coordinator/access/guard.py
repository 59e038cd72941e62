"""The outermost middleware: refuses requests from other sites, and sets the security headers of every response."""

from __future__ import annotations

from collections.abc import Set

from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coordinator.access.headers import RAW
from coordinator.access.requests import fields, refusal
from coordinator.http.problems import problem

RANGES = frozenset({b"range", b"if-range", b"accept-ranges"})
"""Headers that request a part of a file, and the response header that offers parts."""


class RequestGuard:
    """Passes allowed requests to ``app``, and answers refused requests with a problem document."""

    def __init__(self, app: ASGIApp, names: Set[str]) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        error = refusal(scope["method"], scope["path"], fields(scope["headers"]), self._names)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [header for header in message["headers"] if header[0] not in RANGES]
                own = {name for name, _ in headers}
                if error is not None:
                    # The body was not read, so the start of the next request on this connection is unknown.
                    headers.append((b"connection", b"close"))
                message["headers"] = [*headers, *(header for header in RAW if header[0] not in own)]
            await send(message)

        # Each request creates a new export, so ranges of two exports do not fit together. HTTP allows a server to
        # ignore ranges.
        scope = {**scope, "headers": [header for header in scope["headers"] if header[0] not in RANGES]}
        app = problem(Request(scope), error.status, error.title, str(error)) if error else self._app
        await app(scope, receive, send_with_headers)


def install(app: FastAPI, names: Set[str]) -> None:
    """Make the guard the outermost middleware of the application. ``add_middleware`` is not used, because middleware
    that it adds does not see responses to unhandled errors."""
    build = app.build_middleware_stack

    def build_guarded() -> ASGIApp:
        return RequestGuard(build(), names)

    app.build_middleware_stack = build_guarded  # type: ignore[method-assign]
